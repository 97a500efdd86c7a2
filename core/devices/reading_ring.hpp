// SPDX-License-Identifier: LGPL-2.1-or-later
// The readings of the last hour, so that a graph has a history when it is opened. They come from
// samples that are taken anyway: the ring causes no sampling, and is not persistent. Devices are
// identified by UUID, so a device that changes its index keeps its readings.
#pragma once

#include "core/base/time.hpp"
#include "core/model/device_table.hpp"
#include "core/ports/observer.hpp"

#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

namespace genv::core {

/// The part of a reading that is kept.
struct PastReading {
    std::optional<Bytes> usedMemory;
    std::optional<std::uint32_t> utilizationPercent;
    std::optional<std::int32_t> temperatureCelsius;
    std::optional<std::uint32_t> powerMilliwatts;

    friend bool operator==(const PastReading&, const PastReading&) = default;
};

/// A reading of a device at one time, with the current index of the device.
struct ReadingRow {
    DeviceIndex device = 0;
    WallTime when;
    PastReading reading;

    friend bool operator==(const ReadingRow&, const ReadingRow&) = default;
};

class ReadingRing {
  public:
    /// How long readings are kept, and the maximum number for a device.
    static constexpr std::chrono::hours keptFor{1};
    static constexpr std::size_t maxMoments = 360;
    /// The minimum time between two readings: ten seconds, less the tolerance of a timer that
    /// expires every ten seconds.
    static constexpr std::chrono::milliseconds minInterval{9'500};

    /// Adds a sample that the table already includes. If the clock was set back, the readings that
    /// are later than this one are dropped.
    void observed(const DeviceTable& devices, const Observation& observation);

    /// Returns the readings after this time, of the existing devices, oldest first and then by
    /// index. The readings of one time are never split, so the result has more than `maxRows` rows
    /// only if the first time alone has more.
    [[nodiscard]] std::vector<ReadingRow> after(WallTime since, std::size_t maxRows,
                                                const DeviceTable& devices) const;

  private:
    using Uuids = std::vector<DeviceUuid>;
    struct Moment {
        BootTime began;
        WallTime when;
        std::shared_ptr<const Uuids>
            devices;                       ///< shared by consecutive moments with the same devices
        std::vector<PastReading> readings; ///< one reading for each of the devices
    };

    std::deque<Moment> moments_; ///< oldest first; `when` ascends
};

} // namespace genv::core
