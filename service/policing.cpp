// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/policing.hpp"

#include <unistd.h>

namespace genv::service {

Policing::Policing(MachineAdapters& machine, Sharing& sharing, GlibLoop& loop, core::Log& log,
                   const core::Settings& settings)
    : terminator(machine.processes, machine.observer, loop, sharing.events,
                 static_cast<core::Pid>(::getpid()), [&settings] { return settings.killAfter; }),
      evictor(sharing.ledger, machine.observer, terminator, loop, log),
      enforcer({sharing.ledger, machine.observer, machine.users, terminator, sharing.idleness,
                machine.clock, sharing.events, log, machine.slurm.get(),
                [&settings] { return settings.slurm.idleAction; },
                [&isolation = sharing.isolation] { return isolation.guardedUses(); },
                [&takings = sharing.takings](const auto& environment, const auto& device) {
                    return takings.parkIdle(environment, device);
                },
                [&settings] { return settings.idleAction == core::IdleAction::Park; }}) {
    sharing.occupancy.setEnding([this] { return evictor.isBusy() || terminator.isBusy(); });
}

} // namespace genv::service
