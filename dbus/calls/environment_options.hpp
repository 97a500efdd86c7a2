// SPDX-License-Identifier: LGPL-2.1-or-later
// Converts the arguments of calls about environments to the types of the core.
#pragma once

#include "core/ledger/ledger.hpp"
#include "core/model/environment.hpp"
#include "core/ports/jupyter_kernels.hpp"
#include "core/requests/device_request.hpp"
#include "dbus/calls/call_options.hpp"

#include <optional>
#include <variant>

namespace genv::dbus {

/// Takes the options that Activate and Attach share. Throws core::Error(InvalidArgs).
core::RequestTerms takeWaitOptions(CallOptions& options);

/// Takes the options of Resume, which are those of a request that waits, without a lifetime. Throws
/// core::Error(InvalidArgs).
core::RequestTerms takeResumeOptions(CallOptions& options);

/// The devices that a call names.
using NamedDevices = std::variant<core::IndicesWanted, core::UuidsWanted>;

/// Takes the options that name devices, without duplicates. Throws core::Error(InvalidArgs).
std::optional<NamedDevices> takeNamedDevices(CallOptions& options);

/// Returns the request for these devices.
decltype(core::AttachRequest::wanted) wantedOf(const NamedDevices& named);

/// Takes `preemptible`: no, park or end. Throws core::Error(InvalidArgs).
std::optional<core::Preemptible> takePreemptible(CallOptions& options);

/// Throws core::Error(InvalidArgs) if an environment would lend devices that belong to its parent.
void requireMayLend(bool isWithin, std::optional<core::Preemptible> preemptible);

/// The options of Attach.
struct AttachCallOptions {
    core::AttachRequest request;
    std::optional<core::Preemptible> preemptible; ///< of the environment; unset: as it is
    core::RequestTerms terms;
};

/// Reads the options of Attach for this environment. Throws core::Error(InvalidArgs).
AttachCallOptions readAttachOptions(VariantMap options, const core::EnvironmentRecord& environment);

/// Reads the arguments of Configure. Throws core::Error(InvalidArgs).
core::EnvironmentConfigurationChange readConfigurationChange(VariantMap set,
                                                             const std::vector<std::string>& unset);

/// Returns the process that was found for a Jupyter kernel. Throws core::Error(NoSuchProcess) if
/// there is none, or more than one.
core::ProcessIdentity foundJupyterKernel(const std::string& jupyterKernel,
                                         const core::JupyterKernels::Found& found);

/// Returns the Jupyter kernel in a process that was found and pinned. Throws
/// core::Error(NoSuchProcess) if its PID belongs to another process by now, and the errors of
/// core::adopt().
core::JupyterKernel adoptJupyterKernel(core::Processes& processes, const std::string& jupyterKernel,
                                       const core::ProcessIdentity& found,
                                       const core::PinnedProcess& process, core::Uid owner);

/// Returns the PIDs of the root processes.
std::vector<core::Pid> rootPids(const core::EnvironmentRecord& environment);

} // namespace genv::dbus
