// SPDX-License-Identifier: LGPL-2.1-or-later
// What a device is: a GPU or a MIG instance of one. A device is known by its UUID; its index is
// only what people and CUDA call it now, and may move.
#pragma once

#include "core/bytes.hpp"
#include "core/time.hpp"

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

/// What does not change while a device is there, but its index.
struct DeviceFacts {
    DeviceUuid uuid;
    DeviceIndex index = 0;
    DeviceKind kind = DeviceKind::Gpu;
    std::string model;
    Bytes totalMemory;

    friend bool operator==(const DeviceFacts&, const DeviceFacts&) = default;
};

/// What a sample measured; empty where the driver does not know.
struct DeviceReading {
    std::optional<Bytes> usedMemory;
    std::optional<std::uint32_t> utilizationPercent;
    std::optional<std::int32_t> temperatureCelsius;
    std::optional<std::uint64_t> powerMilliwatts;
    std::optional<std::uint32_t> powerLimitMilliwatts{}; ///< that the driver enforces now

    friend bool operator==(const DeviceReading&, const DeviceReading&) = default;
};

/// Whether a device can be worked with.
struct Health {
    enum class State {
        Ok,
        Stale, ///< the driver did not answer lately; the readings are old
        Lost,  ///< a working driver says that the device fell off
        Xid,   ///< the driver reported an error that no application causes
    };
    State state = State::Ok;
    std::uint32_t xid = 0; ///< with State::Xid: the driver's error number

    friend bool operator==(const Health&, const Health&) = default;
};

/// As the Health property writes it: "ok", "stale", "lost", "xid-79".
std::string toString(Health health);

/// Whether an XID is one that an application causes by itself (13, 31, 43, 45, 68, 109) and that
/// says nothing of the device.
bool isApplicationXid(std::uint32_t xid);

} // namespace genv::core
