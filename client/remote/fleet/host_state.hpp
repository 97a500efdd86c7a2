// SPDX-License-Identifier: LGPL-2.1-or-later
// What a host has and who holds it, whichever genv it runs: asked over the bus, or, of the old
// Python genv, read from what "genv usage snapshot" prints there.
#pragma once

#include "client/remote/ssh/session.hpp"
#include "genv/types.hpp"

#include <string>
#include <vector>

namespace genv::remote {

enum class Genv {
    Service, ///< genvd
    Old,     ///< the Python genv: it can be read and enforced on, not attached on from here
};

/// A host's devices and environments at one moment. Of the old genv, devices have neither UUID nor
/// model, and times are read by this machine's time zone.
struct HostState {
    Genv genv = Genv::Service;
    std::vector<Device> devices;
    std::vector<Attachment> attachments;
    std::vector<EnvironmentEntry> environments;

    /// Whether nobody holds a device.
    [[nodiscard]] bool isFree(const Device& device) const;
};

/// Reads a host's state. Throws HostFailure; Trouble::NoService where it has no genv at all.
HostState readHostState(const Host& host, const SshBounds& bounds);

} // namespace genv::remote
