// SPDX-License-Identifier: LGPL-2.1-or-later
// Groups of references for method handlers. Each handler takes the groups that it uses. They own
// nothing: the parts of service/service.hpp own the objects, which outlive every handler.
#pragma once

#include "core/idleness.hpp"
#include "core/isolation.hpp"
#include "core/jobs.hpp"
#include "core/ledger.hpp"
#include "core/lingering.hpp"
#include "core/locks.hpp"
#include "core/occupancy.hpp"
#include "core/ports/clock.hpp"
#include "core/ports/history.hpp"
#include "core/ports/kernels.hpp"
#include "core/ports/log.hpp"
#include "core/ports/observer.hpp"
#include "core/ports/processes.hpp"
#include "core/ports/scheduler.hpp"
#include "core/ports/slurm.hpp"
#include "core/ports/users.hpp"
#include "core/queue.hpp"
#include "core/reading_ring.hpp"
#include "core/refusal_watch.hpp"
#include "core/rules/enforcer.hpp"
#include "core/settings.hpp"
#include "core/terminator.hpp"
#include "dbus/call_places.hpp"
#include "dbus/callers.hpp"
#include "dbus/gate.hpp"
#include "dbus/refusals.hpp"
#include "dbus/reply.hpp"
#include "dbus/waiting_calls.hpp"

#include <functional>

namespace genv::dbus {

/// The sharing of GPUs: environments that hold them, and requests that wait for them.
struct Sharing {
    core::Ledger& ledger;
    core::Queue& queue;
    core::Locks& locks;
    core::Lingering& lingering;
    core::Occupancy& occupancy;
    core::Jobs& jobs;
    const core::Idleness& idleness;
    const core::ReadingRing& readings;
    const core::UserUse& use;
};

/// The machine outside the service. Its replies come later, on the loop.
struct Machine {
    core::Observer& observer;
    core::Processes& processes;
    core::Kernels& kernels;
    core::Users& users;
    core::History& history;
    core::Slurm& slurm;
};

/// Ends processes and detaches GPUs, for rules and on request.
struct Policing {
    core::Enforcer& enforcer;
    core::Terminator& terminator;
};

/// Kernel isolation, which prevents users from opening devices that they do not hold.
struct Isolating {
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
struct Context {
    Sharing sharing;
    Machine machine;
    Policing policing;
    Isolating isolating;
    Calls calls;
    Runtime runtime;
    LiveSettings settings;
};

} // namespace genv::dbus
