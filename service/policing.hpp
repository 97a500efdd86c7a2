// SPDX-License-Identifier: LGPL-2.1-or-later
// Ends processes and detaches GPUs: when a rule or a request demands it, and when an environment
// loses a GPU.
#pragma once

#include "core/rules/enforcer.hpp"
#include "core/rules/evictor.hpp"
#include "core/rules/terminator.hpp"
#include "core/settings/settings.hpp"
#include "service/machine_adapters.hpp"
#include "service/sharing.hpp"

namespace genv::service {

struct Policing {
    /// All arguments must outlive this object. The settings may change.
    Policing(MachineAdapters& machine, Sharing& sharing, GlibLoop& loop, core::Log& log,
             const core::Settings& settings);

    Policing(const Policing&) = delete;
    Policing& operator=(const Policing&) = delete;

    core::Terminator terminator;
    core::Evictor evictor;
    core::Enforcer enforcer;
};

} // namespace genv::service
