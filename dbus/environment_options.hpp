// SPDX-License-Identifier: LGPL-2.1-or-later
// What calls about environments carry, turned into what the core understands.
#pragma once

#include "core/environment.hpp"
#include "core/ledger.hpp"
#include "core/placement.hpp"
#include "dbus/options.hpp"
#include "policy/question.hpp"

namespace genv::dbus {

/// Reads the options of Attach for this environment. Throws core::Error(InvalidArgs, NotSupported).
core::AttachRequest readAttachRequest(VariantMap options, const core::Environment& environment);

/// Reads the arguments of Configure. Throws core::Error(InvalidArgs, NotSupported).
core::ConfigurationChange readConfigurationChange(VariantMap set,
                                                  const std::vector<std::string>& unset);

/// Says in a target what devices a placement claims.
void claimInto(policy::Target& target, const core::Placement& placement, bool overSubscribe);

/// Pins the process that was found for a kernel. Throws core::Error(NoSuchProcess) when none was.
core::Kernel pinKernel(core::Processes& processes, const std::string& kernel,
                       std::optional<core::ProcessIdentity> process, core::Uid owner);

/// The pids of the root processes.
std::vector<core::Pid> rootPids(const core::Environment& environment);

} // namespace genv::dbus
