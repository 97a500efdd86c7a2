// SPDX-License-Identifier: LGPL-2.1-or-later
// A device is a GPU or a MIG instance of one. Its UUID identifies it. Its index is the number that
// people and CUDA use for it at present, and may change.
#pragma once

#include "core/base/bytes.hpp"
#include "core/base/time.hpp"

#include <compare>
#include <cstdint>
#include <optional>
#include <string>

namespace genv::core {

using DeviceUuid = std::string;
using DeviceIndex = std::uint32_t;

enum class DeviceKind { Gpu, MigInstance };

/// A device node, as mknod(2) numbers it.
struct DeviceNode {
    std::uint32_t major = 0;
    std::uint32_t minor = 0;

    friend auto operator<=>(const DeviceNode&, const DeviceNode&) = default;
};

/// The properties that are constant while a device exists, except for its index.
struct DeviceFacts {
    DeviceUuid uuid;
    DeviceIndex index = 0;
    DeviceKind kind = DeviceKind::Gpu;
    std::string model;
    Bytes totalMemory; ///< 0: unknown

    /// Returns the total memory, or nothing if it is unknown.
    [[nodiscard]] std::optional<Bytes> knownMemory() const {
        return totalMemory == Bytes{0} ? std::nullopt : std::optional(totalMemory);
    }

    friend bool operator==(const DeviceFacts&, const DeviceFacts&) = default;
};

/// The values that a sample measured; empty where the driver reports none.
struct DeviceReading {
    std::optional<Bytes> usedMemory;
    std::optional<std::uint32_t> utilizationPercent;
    std::optional<std::int32_t> temperatureCelsius;
    std::optional<std::uint64_t> powerMilliwatts;
    std::optional<std::uint32_t> powerLimitMilliwatts{}; ///< the limit that the driver enforces now

    friend bool operator==(const DeviceReading&, const DeviceReading&) = default;
};

/// Whether a device can be used.
struct Health {
    enum class State {
        Ok,
        Stale, ///< the driver has not answered recently, so the readings are old
        Lost,  ///< a working driver reports that the device fell off the bus
        Xid,   ///< the driver reported an XID error that applications do not cause
    };
    State state = State::Ok;
    std::uint32_t xid = 0; ///< the driver's error number with State::Xid

    friend bool operator==(const Health&, const Health&) = default;
};

/// Formats a health as the Health property does: "ok", "stale", "lost", "xid-79".
std::string toString(Health health);

/// Returns whether an XID is one that an application can cause (13, 31, 43, 45, 68, 109), and that
/// therefore does not indicate a faulty device.
bool isApplicationXid(std::uint32_t xid);

} // namespace genv::core
