// SPDX-License-Identifier: LGPL-2.1-or-later
// The assemblies that method handlers work with. Each handler takes the ones that it uses. They own
// nothing: the parts of service/service.hpp do, and these outlive every handler.
#pragma once

#include "core/idleness.hpp"
#include "core/isolation.hpp"
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
#include "dbus/callers.hpp"
#include "dbus/gate.hpp"
#include "dbus/list_calls.hpp"
#include "dbus/refusals.hpp"
#include "dbus/reply.hpp"
#include "dbus/waiting_calls.hpp"

#include <functional>

namespace genv::dbus {

/// How GPUs are shared: the environments that hold them, and the requests that wait.
struct Sharing {
    core::Ledger& ledger;
    core::Queue& queue;
    core::Locks& locks;
    core::Lingering& lingering;
    core::Occupancy& occupancy;
    const core::Idleness& idleness;
    const core::ReadingRing& readings;
};

/// The machine outside of the service. It is asked, and answers later, on the loop.
struct Machine {
    core::Observer& observer;
    core::Processes& processes;
    core::Kernels& kernels;
    core::Users& users;
    core::History& history;
    core::Slurm& slurm;
};

/// Ends processes and takes GPUs away, for rules and on request.
struct Policing {
    core::Enforcer& enforcer;
    core::Terminator& terminator;
};

/// Keeps users from devices that they do not hold, in the kernel.
struct Isolating {
    core::Isolation& isolation;
    const core::RefusalWatch& refusals;
};

/// Identifies, counts, authorises and remembers each call on its way to an answer.
struct Calls {
    Callers& callers;
    Gate& gate;
    Refusals& refusals;
    ListCalls& listCalls;
    WaitingCalls& waitingCalls;
    const bool& isEnding; ///< once the service ends: calls on their way are answered no more
};

/// The clock, later turns of the loop, and the log.
struct Runtime {
    const core::Clock& clock;
    core::Scheduler& scheduler;
    core::Log& log;
};

/// The settings in force, which a reload replaces.
struct LiveSettings {
    std::function<const core::Settings&()> current;
    /// Reads them again for somebody. Throws core::Error(InvalidArgs) that names file and line.
    std::function<void(const core::Actor& actor)> reload;
};

/// All assemblies, for the objects on the bus, which pass each handler the ones that it uses.
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
