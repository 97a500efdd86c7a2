// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/sharing.hpp"

namespace genv::service {

Sharing::Sharing(MachineAdapters& machine, GlibLoop& loop, core::Log& log,
                 const std::filesystem::path& runtime, const std::filesystem::path& state,
                 const core::Settings& settings, core::Gates& gates)
    : store(runtime, log), ledger(store, machine.clock, events),
      isolation(ledger, gates, events, log,
                [&settings]() -> const core::IsolationSettings& { return settings.isolation; }),
      reportedOpens(runtime, log),
      refusedOpens(isolation, gates, reportedOpens, events, machine.clock),
      lingering(ledger, machine.observer, machine.processes, loop, events,
                [&settings] { return settings.linger; }),
      occupancy(ledger, machine.observer, loop), lockPipes(log),
      useFiles(state, runtime, log, &GlibLoop::post), use(ledger, machine.clock, settings.halfLife),
      startHistory(machine.clock),
      useRecorder(
          use, useFiles, machine.clock, loop,
          [&settings] { return settings.order == core::QueueOrder::Fair; }, &startHistory),
      queue(
          ledger, machine.clock, loop, events, log,
          [&settings, &users = machine.users](const core::UserInfo& user) {
              return settings.limits.of(users.newest(user));
          },
          [&settings] {
              return core::WaitingTimes{settings.maxWait, settings.keepFor};
          },
          {[&settings] {
               return core::OrderRules{settings.order, settings.maxOvertaking, settings.maxFirst};
           },
           [&settings, &users = machine.users](const core::UserInfo& user) {
               return settings.limits.weightOf(users.newest(user));
           },
           &use},
          &startHistory),
      locks(ledger, lockPipes, loop, log), leases(ledger, machine.clock, loop, events),
      jupyterKernelRestarts(ledger, machine.processes, machine.jupyterKernels, machine.clock, loop),
      idleness(events), memoryWatch(events),
      jobs(ledger, machine.users, machine.jobCgroups, *machine.slurm, machine.clock, log),
      parkings(ledger, {machine.observer, machine.processes, *machine.parker, machine.hostMemory},
               machine.clock, loop, events,
               {[&settings]() -> const core::ParkingSettings& { return settings.parking; },
                [&settings] { return settings.grace; },
                [&settings] { return settings.killAfter; }}),
      takings(ledger, parkings, machine.clock, loop, events, log,
              {[&settings]() -> const core::ParkingSettings& { return settings.parking; },
               [&settings] { return settings.grace; }, [&settings] { return settings.killAfter; },
               [this] { return isolation.inForce() == core::IsolationMode::User; }}),
      machine_(machine), settings_(settings) {
    ledger.guardBy(&isolation);
    queue.takeBy(takings);
    leases.parkBy([this, &settings](const core::EnvironmentId& id, std::function<void(bool)> done) {
        return settings.parking.atLeaseEnd &&
               parkings.tryToPark(id, core::Reason::expired(), std::move(done));
    });
    ledger.reserve(settings.slurm.devices);
}

core::RecoveryReport Sharing::recover() {
    // Recovery reports the environments in the state as events, so that their leases continue and
    // what they hold counts.
    events.subscribe([this](const core::Event& event) { leases.onEvent(event); });
    useRecorder.restore();
    events.subscribe([this](const core::Event& event) {
        use.onEvent(event);
        startHistory.onEvent(event);
        useRecorder.onEvent(event);
    });
    ledger.beforeDetach(
        [this](const core::EnvironmentRecord& before) { useRecorder.holdingEnds(before.uid); });
    isolation.check();
    core::RecoveryReport report =
        core::recover(ledger, store, machine_.processes, machine_.clock.bootNow());
    for (const core::EndedMeanwhile& ended : report.endedMeanwhile) {
        use.countLost(ended.former, ended.attachments);
        useRecorder.holdingEnds(ended.former.uid);
    }
    return report;
}

void Sharing::resumeWaits() {
    locks.recover();
    queue.expectClients();
    // Weights depend on the groups of the owners, which are not in the state.
    std::set<core::Uid> owners;
    for (const auto& [ticket, id] : ledger.waits())
        owners.insert(ledger.get(id).uid);
    core::describeAll(machine_.users, owners, [](const auto& /*users*/) {});
}

void Sharing::settingsChanged() {
    use.setHalfLife(settings_.halfLife);
    useRecorder.settingsChanged();
    queue.settingsChanged();
    parkings.settingsChanged();
}

void Sharing::observed(const core::Observation& observation) {
    isolation.learn(observation);
    ledger.observed(observation);
    if (observation.noDriver.empty())
        readings.observed(ledger.devices(), observation);
    jobs.observed(observation);
    lookAtGate();
    lingering.observed(observation);
    idleness.observed(ledger, observation);
    memoryWatch.observed(ledger, observation);
    leases.check();
}

void Sharing::driverFailed() {
    ledger.driverFailed();
    lookAtGate();
}

// Polled whether or not the driver answers: the kernel goes on refusing, and administrators may
// open and close the gate.
void Sharing::lookAtGate() {
    isolation.check();
    refusedOpens.check();
}

} // namespace genv::service
