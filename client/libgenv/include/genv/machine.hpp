// SPDX-License-Identifier: LGPL-2.1-or-later
// The machine as a whole: its GPUs, the processes on them, and the readings of the last hour.
#pragma once

#include "genv/types.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace genv {

/// One sample of a device. A value is unset if it could not be read.
struct Reading {
    std::uint32_t device = 0; ///< the current index of the device
    Time when;
    std::optional<std::uint64_t> usedMemoryBytes;
    std::optional<std::uint32_t> utilizationPercent;
    std::optional<std::int32_t> temperatureCelsius;
    std::optional<std::uint32_t> powerMilliwatts;
};

/// The use of one device by a process. A value is unset if it is not known.
struct ProcessUse {
    std::uint32_t device = 0;
    std::optional<std::uint64_t> usedMemoryBytes;
    std::optional<std::uint32_t> utilizationPercent; ///< share of the time that its work ran there
};

/// A process that the driver reports as using a GPU, with its name and user.
struct ProcessDescription {
    std::uint32_t pid = 0;
    std::uint32_t uid = 0;
    std::string user; ///< name of the owner, or the uid as text
    std::optional<std::string> environment;
    std::string name; ///< as the process set it, printable; empty if unknown
    std::vector<ProcessUse> uses;
    std::optional<Time> started;
};

/// Whether a call may start a service that is not running.
enum class StartsService { Yes, No };

/// Every device and every environment at one moment.
struct Machine {
    std::string driverVersion;        ///< empty if there is no driver or it has not replied yet
    std::string isolation;            ///< the mode in force: "none", "watch" or "user"
    std::vector<DeviceState> devices; ///< by index
    std::vector<Environment> environments; ///< oldest first
};

} // namespace genv
