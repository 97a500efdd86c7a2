// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dbus/manager/termination.hpp"

#include "core/base/error.hpp"
#include "core/ledger/membership.hpp"
#include "dbus/calls/named_process.hpp"
#include "dbus/calls/operation.hpp"
#include "dbus/manager/observation.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace genv::dbus {

namespace {

const core::ObservedProcess& findObservedProcess(const core::Observation& observation,
                                                 core::Pid pid) {
    const auto found =
        std::find_if(observation.processes.begin(), observation.processes.end(),
                     [&](const core::ObservedProcess& p) { return p.facts.identity.pid == pid; });
    if (found == observation.processes.end())
        core::fail(core::ErrorCode::NoSuchProcess, "no process {} uses a GPU", pid);
    return *found;
}

core::Judged judgedBy(const core::Actor& actor, const core::ObservedProcess& process,
                      const core::EnvironmentRecord* environment) {
    std::vector<core::DeviceUuid> devices;
    for (const core::ComputeUse& use : process.uses)
        devices.push_back(use.device);
    return {process.facts,
            process.user(),
            std::move(devices),
            environment != nullptr ? std::optional(environment->id) : std::nullopt,
            core::Cause::request(actor, process.user()),
            actor == 0};
}

void requireSignalled(core::TerminationOutcome outcome, core::Pid pid) {
    switch (outcome) {
    case core::TerminationOutcome::Signalled:
    case core::TerminationOutcome::Ending:
        return;
    case core::TerminationOutcome::Gone:
    case core::TerminationOutcome::Changed:
        core::fail(core::ErrorCode::NoSuchProcess, "process {} has exited or uses no GPU any more",
                   pid);
    case core::TerminationOutcome::Protected:
        core::fail(core::ErrorCode::InvalidArgs, "process {} serves others and is never terminated",
                   pid);
    case core::TerminationOutcome::Unknown:
        break;
    }
    core::fail(
        core::ErrorCode::Timeout,
        "the GPU driver does not say whether process {} still uses a GPU, so it was left alone",
        pid);
}

/// A process that the driver does not list, since it is parked.
struct Parked {
    core::EnvironmentId environment;
    core::ProcessIdentity process;
    core::Uid uid = 0;
};

std::optional<Parked> findParked(const core::LedgerView& ledger, core::Pid pid) {
    for (const auto& [sequence, environment] : ledger.environments()) {
        if (!environment.hasParked())
            continue;
        for (const core::ParkedProcess& process : environment.parking->processes) {
            if (process.identity.pid == pid)
                return Parked{environment.id, process.identity, process.uids.real};
        }
    }
    return std::nullopt;
}

// A pending call of TerminateProcess.
class Termination : public Operation<Termination, Reply<>> {
  public:
    Termination(const BusContext& context, const Reply<>& reply, core::Pid pid)
        : Operation(reply), ledger_(context.sharing.ledger), machine_(context.machine),
          terminator_(context.policing.terminator), parkings_(context.sharing.parkings),
          calls_(context.calls), pid_(pid) {}

    void start() {
        whenPidIsOurs(calls_, machine_.processes, reply_, pid_,
                      [self = shared_from_this()] { self->observe(); });
    }

  private:
    void observe() {
        withObservation(machine_.observer, calls_, reply_, later(&Termination::judge));
    }

    void judge(const core::Observation& observation) {
        parked_ = findParked(ledger_, pid_);
        if (parked_) {
            target_.pid = pid_;
            target_.environment = parked_->environment;
            target_.owner = parked_->uid;
            machine_.users.describe(parked_->uid, later(&Termination::ask));
            return;
        }
        const core::ObservedProcess& process = findObservedProcess(observation, pid_);
        requireUnprotected(process);
        const core::EnvironmentRecord* environment =
            core::environmentOf(core::lookupIn(ledger_), process);
        judged_ = judgedBy(caller().actor(), process, environment);
        target_.pid = pid_;
        target_.environment = judged_->environment;
        target_.owner = process.ownerFor(caller().uid);
        target_.devices = ledger_.devices().indicesOf(judged_->devices);
        machine_.users.describe(*target_.owner, later(&Termination::ask));
    }

    void requireUnprotected(const core::ObservedProcess& process) const {
        if (caller().uid == 0 ? terminator_.isUntouchable(process)
                              : terminator_.isProtected(process))
            requireSignalled(core::TerminationOutcome::Protected, pid_);
    }

    void ask(const core::UserInfo& owner) {
        target_.ownerName = owner.name;
        calls_.gate.pass(reply_, target_, later(&Termination::terminate));
    }

    void terminate() {
        if (!parked_) {
            terminator_.terminate(*judged_, later(&Termination::answer));
            return;
        }
        const core::Cause cause = core::Cause::request(caller().actor(), parked_->uid);
        answer(parkings_.endProcess(parked_->environment, parked_->process, cause)
                   ? core::TerminationOutcome::Signalled
                   : core::TerminationOutcome::Gone);
    }

    void answer(core::TerminationOutcome outcome) {
        requireSignalled(outcome, pid_);
        reply_.send();
    }

    core::Ledger& ledger_;
    const MachineParts& machine_;
    core::Terminator& terminator_;
    core::Parkings& parkings_;
    const Calls& calls_;
    const core::Pid pid_;
    std::optional<core::Judged> judged_;
    std::optional<Parked> parked_;
    policy::Target target_;
};

} // namespace

void terminateProcess(const BusContext& context, const Reply<>& reply, core::Pid pid) {
    std::make_shared<Termination>(context, reply, pid)->start();
}

} // namespace genv::dbus
