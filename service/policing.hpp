// SPDX-License-Identifier: LGPL-2.1-or-later
// Ends processes and takes GPUs away: for rules, on request, and where an environment loses a GPU.
#pragma once

#include "core/evictor.hpp"
#include "core/rules/enforcer.hpp"
#include "core/settings.hpp"
#include "core/terminator.hpp"
#include "service/machine.hpp"
#include "service/sharing.hpp"

namespace genv::service {

struct Policing {
    /// All outlive this; the settings may change.
    Policing(Machine& machine, Sharing& sharing, GlibLoop& loop, core::Log& log,
             const core::Settings& settings);

    core::Terminator terminator;
    core::Evictor evictor;
    core::Enforcer enforcer;
};

} // namespace genv::service
