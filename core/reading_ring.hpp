// SPDX-License-Identifier: LGPL-2.1-or-later
// The readings of the last hour, so that a graph is not empty when somebody looks. They come from
// samples that are taken anyway: nothing is sampled for this, and nothing of it is written down.
// Devices are known by UUID here, so a device that moves to another index takes its readings along.
#pragma once

#include "core/device_table.hpp"
#include "core/ports/observer.hpp"
#include "core/time.hpp"

#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

namespace genv::core {

/// What is kept of a reading.
struct PastReading {
    std::optional<Bytes> usedMemory;
    std::optional<std::uint32_t> utilizationPercent;
    std::optional<std::int32_t> temperatureCelsius;
    std::optional<std::uint32_t> powerMilliwatts;

    friend bool operator==(const PastReading&, const PastReading&) = default;
};

/// A reading of a device at a time, under the index that the device has now.
struct ReadingRow {
    DeviceIndex device = 0;
    WallTime when;
    PastReading reading;

    friend bool operator==(const ReadingRow&, const ReadingRow&) = default;
};

class ReadingRing {
  public:
    /// How long a reading is kept, and how many of a device at most.
    static constexpr std::chrono::hours keptFor{1};
    static constexpr std::size_t maxMoments = 360;
    /// The time between two readings is at least this: ten seconds, less what a timer that expires
    /// every ten seconds may be early.
    static constexpr std::chrono::milliseconds minInterval{9'500};

    /// Takes a sample into account that the table knows already. When the clock was set back, the
    /// readings that would be later than this one are dropped.
    void observed(const DeviceTable& devices, const Observation& observation);

    /// The readings after this time, oldest first and by index, of the devices that are there now.
    /// Those of one time are never split: there are more than `maxRows` only where the first time
    /// alone has more.
    [[nodiscard]] std::vector<ReadingRow> after(WallTime since, std::size_t maxRows,
                                                const DeviceTable& devices) const;

  private:
    using Uuids = std::vector<DeviceUuid>;
    struct Moment {
        BootTime began;
        WallTime when;
        std::shared_ptr<const Uuids> devices; ///< shared by moments that have the same ones
        std::vector<PastReading> readings;    ///< one for each of them
    };

    std::deque<Moment> moments_; ///< oldest first; `when` ascends
};

} // namespace genv::core
