// SPDX-License-Identifier: LGPL-2.1-or-later
// What the method handlers work with. It owns nothing; whoever wires the service outlives every
// handler.
#pragma once

#include "core/idleness.hpp"
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
#include "core/ports/users.hpp"
#include "core/queue.hpp"
#include "core/rules/enforcer.hpp"
#include "core/settings.hpp"
#include "core/terminator.hpp"
#include "dbus/callers.hpp"
#include "dbus/gate.hpp"
#include "dbus/refusals.hpp"
#include "dbus/reply.hpp"
#include "dbus/waiting_calls.hpp"

#include <functional>
#include <string>
#include <unordered_map>

namespace genv::dbus {

/// Counts the calls of each user that wait for a sample, a search of all processes or the history,
/// and refuses one too many.
class ListCalls {
  public:
    /// Counts a call for as long as the result lives. Throws core::Error(LimitsExceeded).
    [[nodiscard]] std::shared_ptr<void> enter(core::Uid uid);

  private:
    std::unordered_map<core::Uid, std::size_t> counts_;
};

struct Context {
    core::Ledger& ledger;
    core::Processes& processes;
    core::Observer& observer;
    core::Lingering& lingering;
    core::Occupancy& occupancy;
    core::Queue& queue;
    core::Locks& locks;
    core::Users& users;
    core::Kernels& kernels;
    core::History& history;
    core::Terminator& terminator;
    core::Enforcer& enforcer;
    const core::Idleness& idleness;
    const core::Clock& clock;
    core::Scheduler& scheduler;
    core::Log& log;
    Refusals& refusals;
    Callers& callers;
    Gate& gate;
    ListCalls& listCalls;
    WaitingCalls& waitingCalls;
    const bool& isEnding; ///< once the service ends: calls on their way are answered no more
    std::function<const core::Settings&()> settings;
    /// For somebody. Throws core::Error(InvalidArgs) that names file and line.
    std::function<void(core::Uid actor)> reload;
    std::string version;
};

} // namespace genv::dbus
