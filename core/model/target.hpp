// SPDX-License-Identifier: LGPL-2.1-or-later
// The target of a call, which a question for polkit names.
#pragma once

#include "core/base/process.hpp"
#include "core/model/environment.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace genv::core {

/// A user who holds a device.
struct DeviceHolder {
    Uid uid = 0;
    std::string name;

    friend bool operator==(const DeviceHolder&, const DeviceHolder&) = default;
};

/// Devices that a call would over-subscribe without the consent of their holders.
struct HeldDevices {
    std::vector<DeviceIndex> indices;
    std::vector<DeviceHolder> holders; ///< users who did not consent, without duplicates

    friend bool operator==(const HeldDevices&, const HeldDevices&) = default;
};

/// The target of a call, as far as it is known. Fields that do not apply are empty.
struct Target {
    std::optional<EnvironmentId> environment;
    std::optional<Uid> owner; ///< owner of the environment, or uid of the process
    std::string ownerName;
    std::optional<EnvironmentId> parent; ///< the environment whose devices are shared
    std::optional<Uid> parentOwner;      ///< owner of that environment
    std::string parentOwnerName;
    std::vector<DeviceIndex> devices;  ///< the devices that would change hands
    std::optional<std::uint32_t> gpus; ///< number of requested devices
    bool overSubscribes = false;       ///< over-subscription was requested
    HeldDevices withoutConsent = {};   ///< those of the devices whose holders did not consent
    std::optional<Pid> pid;
    bool dryRun = false;     ///< nothing would change
    bool extendsJob = false; ///< Slurm would be asked to end a job later

    friend bool operator==(const Target&, const Target&) = default;
};

/// Returns the target of a call about an environment.
Target targetOf(const EnvironmentRecord& environment);

} // namespace genv::core
