// SPDX-License-Identifier: LGPL-2.1-or-later
// The machine as a whole: its GPUs, who uses them, and their readings of the last hour. As in
// types.hpp: a struct gets no new member.
#pragma once

#include "genv/types.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace genv {

/// What a sample measured of a device. A number that is unset was not known.
struct Reading {
    std::uint32_t device = 0; ///< the index that the device has now
    Time when;
    std::optional<std::uint64_t> usedMemoryBytes;
    std::optional<std::uint32_t> utilizationPercent;
    std::optional<std::int32_t> temperatureCelsius;
    std::optional<std::uint32_t> powerMilliwatts;
};

/// What a process uses of one device. A number that is unset is not known.
struct ProcessUse {
    std::uint32_t device = 0;
    std::optional<std::uint64_t> usedMemoryBytes;
    std::optional<std::uint32_t> utilizationPercent; ///< the time in which its work ran there
};

/// A process that the driver reports as using a GPU, with what people know it by.
struct ProcessDescription {
    std::uint32_t pid = 0;
    std::uint32_t uid = 0;
    std::string user; ///< its name, or the uid as text
    std::optional<std::string> environment;
    std::string name; ///< as the process chose it, printable; empty where it is not known
    std::vector<ProcessUse> uses;
    std::optional<Time> started;
};

/// A device that an environment holds.
struct AttachedDevice {
    std::uint32_t device = 0;
    std::optional<Time> expires; ///< when its lease ends, or the environment's; unset: none runs
};

/// A device with everything that is known of it.
struct MachineDevice {
    DeviceState state;
    std::string pciAddress; ///< such as "0000:65:00.0"; empty where it is not known
    std::optional<std::uint32_t> powerLimitMilliwatts;
    std::optional<std::string> reservedFor; ///< "slurm", whose jobs alone get it
};

/// An environment with everything that is known of it.
struct MachineEnvironment {
    Environment environment;
    std::vector<AttachedDevice> attached; ///< by index
    std::optional<std::string> parent;    ///< the environment that it is within
    std::optional<std::string> job;       ///< the number of the Slurm job that it is
};

/// Every device and every environment at one moment.
struct Machine {
    std::string driverVersion; ///< empty where there is no driver, or it has not answered yet
    std::string isolation;     ///< the mode that is in force: "none", "watch" or "user"
    std::vector<MachineDevice> devices;           ///< by index
    std::vector<MachineEnvironment> environments; ///< oldest first
};

} // namespace genv
