// SPDX-License-Identifier: LGPL-2.1-or-later
// The steps of a parking in the ledger. core/parking/ decides when each is taken.
#include "core/base/error.hpp"
#include "core/ledger/ledger.hpp"

#include <algorithm>
#include <utility>

namespace genv::core {

namespace {

ReleasedDevice releasedDeviceOf(const DeviceAttachment& attachment) {
    return {attachment.device, attachment.share, attachment.exempt, attachment.overLimit,
            attachment.lease};
}

// Returns a lease that stood still for this time.
Lease later(const Lease& lease, std::chrono::microseconds time) {
    return {lease.granted + time, lease.until + time};
}

} // namespace

void requireNotParking(const EnvironmentRecord& environment) {
    if (environment.isAt(ParkingStep::Parked))
        fail(ErrorCode::Busy,
             "environment {} is parked; resume it first: \"genvctl resume --id {}\"",
             environment.id, environment.id);
    if (environment.parking)
        fail(ErrorCode::Busy, "environment {} is being parked or resumed; try again in a moment",
             environment.id);
}

void Ledger::indexParked(const EnvironmentRecord& environment, bool present) {
    if (!environment.parking)
        return;
    for (const ParkedProcess& process : environment.parking->processes) {
        if (present)
            parked_[process.identity] = environment.id;
        else
            parked_.erase(process.identity);
    }
}

void Ledger::beginParking(const EnvironmentId& id, std::vector<ParkedProcess> processes,
                          const Actor& actor, const ParkOptions& options) {
    EnvironmentRecord next = get(id);
    requireNoJob(next);
    requireNotParking(next);
    const Cause cause = Cause::request(actor, next.uid);
    Parking parking{ParkingStep::Parking, cause.reason.text(),  actor, clock_.wallNow(),
                    clock_.bootNow(),     std::move(processes), {},    std::nullopt};
    if (options.reason)
        parking.reason = options.reason->text();
    parking.taker = options.taker;
    for (const DeviceAttachment& attachment : next.attachments)
        parking.devices.push_back(releasedDeviceOf(attachment));
    next.parking = std::move(parking);
    next.parkingProblem.clear();
    apply({std::move(next)}, cause);
}

void Ledger::setParked(const EnvironmentId& id, std::vector<ParkedProcess> processes) {
    EnvironmentRecord next = get(id);
    next.parking->processes = std::move(processes);
    if (next != get(id))
        apply({std::move(next)}, Cause::fact(Reason::user()));
}

void Ledger::concludeParking(const EnvironmentId& id) {
    EnvironmentRecord next = get(id);
    Parking& parking = *next.parking;
    parking.step = ParkingStep::Parked;
    parking.since = clock_.wallNow();
    parking.began = clock_.bootNow();
    parking.lease = std::exchange(next.lease, std::nullopt);
    for (ReleasedDevice& device : parking.devices) {
        // The lease of a device may have been extended since parking began.
        if (const DeviceAttachment* attachment = next.attachmentTo(device.device.uuid))
            device = releasedDeviceOf(*attachment);
    }
    next.attachments.clear();
    awaitResume(next);
    const Cause cause{Reason::parked(), parking.actor};
    apply({std::move(next)}, cause);
}

void Ledger::resume(const EnvironmentId& id, const Plan& plan, const Actor& actor,
                    const Terms& terms) {
    const EnvironmentRecord& environment = get(id);
    if (!environment.isAt(ParkingStep::Parked))
        fail(ErrorCode::NotParked, "environment {} is not parked", id);
    if (!stillHolds(plan, devices_, &environment))
        fail(ErrorCode::DeviceUnavailable, "the devices changed in the meantime; try again");
    EnvironmentRecord next = environment;
    carryOut(next, plan, terms, actor);
    settleResumed(next);
    apply({std::move(next)}, Cause::request(actor, environment.uid));
}

// A parked environment that has all its devices again begins to resume. Its leases stood still.
void Ledger::settleResumed(EnvironmentRecord& environment) const {
    if (!environment.isAt(ParkingStep::Parked))
        return;
    Parking& parking = *environment.parking;
    const auto isAttached = [&](const ReleasedDevice& parked) {
        return environment.attachmentTo(parked.device.uuid) != nullptr;
    };
    if (!std::ranges::all_of(parking.devices, isAttached))
        return;
    const auto parked = clock_.bootNow() - parking.began;
    // A lease that ended begins again, with the same length.
    const bool isRenewed = parking.reason == Reason::expired().text();
    const BootTime now = clock_.bootNow();
    const auto next = [&](const Lease& lease) {
        return isRenewed && lease.until <= parking.began
                   ? Lease{now, now + (lease.until - lease.granted)}
                   : later(lease, parked);
    };
    if (parking.lease)
        environment.lease = next(*parking.lease);
    if (isRenewed)
        environment.began = now;
    parking.lease.reset();
    for (DeviceAttachment& attachment : environment.attachments) {
        const ReleasedDevice* before = parking.find(attachment.device.uuid);
        if (before == nullptr)
            continue;
        if (before->lease)
            attachment.lease = next(*before->lease);
        attachment.exempt = attachment.exempt || before->exempt;
        attachment.overLimit = before->overLimit;
    }
    parking.step = ParkingStep::Resuming;
    environment.parkingProblem.clear();
}

void Ledger::changeParking(const EnvironmentId& id,
                           const std::function<void(EnvironmentRecord&)>& change) {
    const EnvironmentRecord* environment = find(id);
    if (environment == nullptr || !environment->parking)
        return;
    EnvironmentRecord next = *environment;
    change(next);
    if (next != *environment)
        applyFact(std::move(next), Cause::fact(Reason::user()));
}

void Ledger::undoParking(const EnvironmentId& id, const std::string& problem) {
    changeParking(id, [&](EnvironmentRecord& next) {
        if (next.isAt(ParkingStep::Parking))
            next.parking->step = ParkingStep::Undoing;
        next.parkingProblem = problem;
    });
}

// Processes that go on without a registered one keep the environment as lingering ones.
void Ledger::lingerWith(EnvironmentRecord& environment,
                        const std::vector<ParkedProcess>& processes) {
    if (environment.isRegistered())
        return;
    for (const ParkedProcess& process : processes) {
        if (std::ranges::find(environment.processes, process.identity, &RootProcess::identity) ==
            environment.processes.end())
            environment.processes.push_back({process.identity, process.pin, true});
    }
}

void Ledger::concludeResume(const EnvironmentId& id) {
    changeParking(id, [](EnvironmentRecord& next) {
        const Parking parking = *std::exchange(next.parking, std::nullopt);
        lingerWith(next, parking.processes);
    });
}

void Ledger::parkAgain(const EnvironmentId& id, const std::vector<ProcessIdentity>& stranded,
                       const std::string& problem) {
    changeParking(id, [&](EnvironmentRecord& next) {
        Parking& parking = *next.parking;
        std::vector<ParkedProcess> others;
        std::erase_if(parking.processes, [&](const ParkedProcess& process) {
            if (std::ranges::find(stranded, process.identity) != stranded.end())
                return false;
            others.push_back(process);
            return true;
        });
        std::erase_if(parking.devices, [&](const ReleasedDevice& device) {
            return next.attachmentTo(device.device.uuid) != nullptr;
        });
        parking.step = ParkingStep::Parked;
        parking.since = clock_.wallNow();
        parking.began = clock_.bootNow();
        next.parkingProblem = problem;
        awaitResume(next);
        lingerWith(next, others);
    });
}

void Ledger::dropParked(const EnvironmentId& id, const ProcessIdentity& process) {
    const EnvironmentRecord* before = find(id);
    if (before == nullptr)
        return;
    changeParking(id, [&](EnvironmentRecord& next) {
        std::erase_if(next.parking->processes,
                      [&](const ParkedProcess& parked) { return parked.identity == process; });
        if (next.processes.empty())
            lastProcessWent(next, *before, false);
    });
}

void Ledger::setParkingProblem(const EnvironmentId& id, const std::string& problem) {
    const EnvironmentRecord* environment = find(id);
    if (environment == nullptr || environment->parkingProblem == problem)
        return;
    EnvironmentRecord next = *environment;
    next.parkingProblem = problem;
    applyFact(std::move(next), Cause::fact(Reason::user()));
}

void Ledger::setLoanFailed(const EnvironmentId& id, bool failed) {
    const EnvironmentRecord* environment = find(id);
    if (environment == nullptr)
        return;
    EnvironmentRecord next = *environment;
    next.loanFailed = failed && next.configuration.preemptible != Preemptible::No;
    if (next != *environment)
        applyFact(std::move(next), Cause::fact(Reason::user()));
}

} // namespace genv::core
