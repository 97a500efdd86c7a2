// SPDX-License-Identifier: LGPL-2.1-or-later
// Groups of references for method handlers. Each handler takes the groups that it uses. They own
// nothing: the parts of service/service.hpp own the objects, which outlive every handler.
#pragma once

#include "core/devices/idleness.hpp"
#include "core/devices/occupancy.hpp"
#include "core/devices/reading_ring.hpp"
#include "core/environments/lingering.hpp"
#include "core/environments/locks.hpp"
#include "core/isolation/isolation.hpp"
#include "core/isolation/refusal_watch.hpp"
#include "core/ledger/ledger.hpp"
#include "core/parking/parkings.hpp"
#include "core/ports/clock.hpp"
#include "core/ports/history.hpp"
#include "core/ports/jupyter_kernels.hpp"
#include "core/ports/log.hpp"
#include "core/ports/observer.hpp"
#include "core/ports/processes.hpp"
#include "core/ports/scheduler.hpp"
#include "core/ports/slurm.hpp"
#include "core/ports/users.hpp"
#include "core/queue/queue.hpp"
#include "core/rules/enforcer.hpp"
#include "core/rules/terminator.hpp"
#include "core/settings/settings.hpp"
#include "core/slurm/jobs.hpp"
#include "dbus/calls/call_places.hpp"
#include "dbus/calls/callers.hpp"
#include "dbus/calls/gate.hpp"
#include "dbus/calls/refusals.hpp"
#include "dbus/calls/reply.hpp"
#include "dbus/calls/waiting_calls.hpp"

#include <functional>

namespace genv::dbus {

/// The sharing of GPUs: environments that hold them, and requests that wait for them.
struct SharingParts {
    core::Ledger& ledger;
    core::Queue& queue;
    core::Locks& locks;
    core::Lingering& lingering;
    core::Occupancy& occupancy;
    core::Jobs& jobs;
    const core::Idleness& idleness;
    const core::ReadingRing& readings;
    const core::DecayedUse& use;
    core::Parkings& parkings;
    const core::Lending& lending;
};

/// The machine outside the service. Its replies come later, on the loop.
struct MachineParts {
    core::Observer& observer;
    core::Processes& processes;
    core::JupyterKernels& jupyterKernels;
    core::Users& users;
    core::History& history;
    core::Slurm& slurm;
};

/// Ends processes and detaches GPUs, for rules and on request.
struct PolicingParts {
    core::Enforcer& enforcer;
    core::Terminator& terminator;
};

/// Isolation by the kernel, which prevents users from opening devices that they do not hold.
struct IsolationParts {
    core::Isolation& isolation;
    const core::RefusalWatch& refusals;
};

/// Identifies, counts, authorizes and tracks each call until its reply.
struct Calls {
    Callers& callers;
    Gate& gate;
    Refusals& refusals;
    CallPlaces& listCalls;     ///< wait for a sample, a search of all processes or the history
    CallPlaces& startingCalls; ///< wait until their process is read
    WaitingCalls& waitingCalls;
    const bool& isEnding; ///< true once the service stops: pending calls then get no reply
};

/// The clock, later iterations of the loop, and the log.
struct Runtime {
    const core::Clock& clock;
    core::Scheduler& scheduler;
    core::Log& log;
};

/// The settings in force, which a reload replaces.
struct LiveSettings {
    std::function<const core::Settings&()> current;
    /// Reloads the settings on behalf of a user, and calls `done` once they are in force. Throws
    /// core::Error(InvalidArgs) with the file and line of an error.
    std::function<void(const core::Actor& actor, std::function<void()> done)> reload;
};

/// All groups, for the objects on the bus, which pass each handler the ones that it uses.
struct BusContext {
    SharingParts sharing;
    MachineParts machine;
    PolicingParts policing;
    IsolationParts isolating;
    Calls calls;
    Runtime runtime;
    LiveSettings settings;
};

} // namespace genv::dbus
