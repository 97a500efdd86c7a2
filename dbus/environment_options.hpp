// SPDX-License-Identifier: LGPL-2.1-or-later
// What calls about environments carry, turned into what the core understands.
#pragma once

#include "core/environment.hpp"
#include "core/ledger.hpp"
#include "core/placement.hpp"
#include "core/ports/kernels.hpp"
#include "dbus/options.hpp"
#include "policy/question.hpp"

#include <chrono>
#include <optional>
#include <variant>

namespace genv::dbus {

/// Whether a request may wait, and how long what it gets lasts.
struct WaitOptions {
    bool wait = false;
    std::optional<std::chrono::seconds> timeout; ///< of the wait
    std::optional<std::chrono::seconds> lifetime;
};

/// Takes the options that Activate and Attach share. Throws core::Error(InvalidArgs).
WaitOptions takeWaitOptions(Options& options);

/// Devices that a call names.
using NamedDevices = std::variant<core::IndicesWanted, core::UuidsWanted>;

/// Takes the options that name devices, each device once. Throws core::Error(InvalidArgs).
std::optional<NamedDevices> takeNamedDevices(Options& options);

/// What a request for them wants.
decltype(core::AttachRequest::wanted) wantedOf(const NamedDevices& named);

/// What a call of Attach asks for.
struct AttachOptions {
    core::AttachRequest request;
    WaitOptions waiting;
};

/// Reads the options of Attach for this environment. Throws core::Error(InvalidArgs).
AttachOptions readAttachOptions(VariantMap options, const core::Environment& environment);

/// The environment that a call was about; one that ended and came again under the same id is
/// another. Throws core::Error(NoSuchEnvironment).
const core::Environment& sameEnvironment(const core::Ledger& ledger, const core::EnvironmentId& id,
                                         std::uint64_t sequence);

/// Adds to a target the environment whose devices it takes.
void addParent(policy::Target& target, const core::Environment& parent);

/// What a call about an environment is asked about.
policy::Target targetOf(const core::Environment& environment);

/// Reads the arguments of Configure. Throws core::Error(InvalidArgs).
core::ConfigurationChange readConfigurationChange(VariantMap set,
                                                  const std::vector<std::string>& unset);

/// Adds to a target what devices a plan gives.
void addDevices(policy::Target& target, const core::Plan& plan, bool overSubscribe);

/// The process that was found for a kernel. Throws core::Error(NoSuchProcess) when none was, or
/// more than one.
core::ProcessIdentity foundKernel(const std::string& kernel, const core::Kernels::Found& found);

/// The kernel that runs in the process that was found, now that it is pinned. Throws
/// core::Error(NoSuchProcess) when its pid is another's by now, and what core::adopt() throws.
core::Kernel adoptKernel(core::Processes& processes, const std::string& kernel,
                         const core::ProcessIdentity& found, const core::PinnedProcess& process,
                         core::Uid owner);

/// The pids of the root processes.
std::vector<core::Pid> rootPids(const core::Environment& environment);

} // namespace genv::dbus
