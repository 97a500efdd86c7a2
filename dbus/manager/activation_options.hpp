// SPDX-License-Identifier: LGPL-2.1-or-later
// The options of Activate, except those of a Slurm job (job_activation.hpp).
#pragma once

#include "core/requests/device_request.hpp"
#include "dbus/calls/call_options.hpp"
#include "dbus/calls/environment_options.hpp"

#include <sdbus-c++/sdbus-c++.h>

#include <optional>
#include <string>

namespace genv::dbus {

/// The options of a call, with their default values filled in.
struct WantedActivation {
    core::WantedEnvironment environment;
    core::Uid owner = 0;
    std::optional<core::Pid> pid;
    std::optional<sdbus::UnixFd> process;
    std::optional<std::string> jupyterKernel;
    core::RequestTerms terms;
};

/// Reads the options of a call. Throws core::Error(InvalidArgs) if an option is unknown or does not
/// fit another one, and core::Error(AccessDenied) if only root may give the id.
WantedActivation readWantedActivation(VariantMap values, core::Uid caller);

} // namespace genv::dbus
