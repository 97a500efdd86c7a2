// SPDX-License-Identifier: LGPL-2.1-or-later
// The devices of a host and their holders, for every version of genv. A service is called over the
// bus. For genv 1, written in Python, the output of "genv usage snapshot" is parsed.
#pragma once

#include "client/remote/ssh/session.hpp"
#include "genv/machine.hpp"
#include "genv/types.hpp"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace genv::remote {

enum class Genv {
    Service, ///< genvd
    Old,     ///< genv 1 in Python: supports reading and enforcement, but not attaching from here
};

/// Whether a device is free, and the memory that something outside genv uses.
struct DeviceCondition {
    bool isFree = false;
    std::uint64_t unaccountedMemoryBytes = 0; ///< used memory that no process accounts for
};

/// The devices and environments of a host at one moment. For genv 1, devices have neither UUID nor
/// model, and times are interpreted in this machine's time zone.
struct HostState {
    Genv genv = Genv::Service;
    Machine machine; ///< everything that is known; the following lists are parts of it
    std::vector<Device> devices;
    std::vector<Attachment> attachments;
    std::vector<EnvironmentEntry> environments;

    std::map<std::uint32_t, DeviceCondition> conditions; ///< by index
    std::set<std::uint32_t> lost;                        ///< the indices of lost devices

    /// Whether no environment holds the device, so that a request for it is granted.
    [[nodiscard]] bool isAvailable(const Device& device) const;
    /// Whether the device is free as the host's service says; with genv 1, isAvailable().
    [[nodiscard]] bool isFree(const Device& device) const;
    /// Returns the used memory of the device that no process accounts for.
    [[nodiscard]] std::uint64_t unaccountedBytes(const Device& device) const;
};

/// Reads the state of a host. Throws HostFailure, with Trouble::NoService if the host has no genv.
HostState readHostState(const Host& host, const SshBounds& bounds);

} // namespace genv::remote
