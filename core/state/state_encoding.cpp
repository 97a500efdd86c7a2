// SPDX-License-Identifier: LGPL-2.1-or-later
// Encodes state documents; state_schema.cpp decodes them.
#include "core/state/state_schema.hpp"

#include <nlohmann/json.hpp>

namespace genv::core {

namespace {

using nlohmann::json;

json encodeIdentity(const ProcessIdentity& process) {
    return {{"pid", process.pid}, {"start_time", process.startTime}};
}

json encodeProcess(const RootProcess& process) {
    json encoded = encodeIdentity(process.identity);
    if (process.lingers)
        encoded["lingers"] = true;
    return encoded;
}

json encodePendingEnd(const PendingEnd& end) {
    json encoded{{"by_owner", end.byOwner}, {"members", json::array()}};
    for (const ProcessIdentity& member : end.members)
        encoded["members"].push_back(encodeIdentity(member));
    return encoded;
}

json encodeJob(const SlurmJob& job) {
    json encoded{{"id", job.id}};
    if (job.sluid)
        encoded["sluid"] = toString(*job.sluid);
    if (job.ends)
        encoded["ends"] = toMicroseconds(*job.ends);
    if (job.isInferred)
        encoded["inferred"] = true;
    return encoded;
}

json encodeLease(const Lease& lease) {
    return {{"granted", lease.granted.time_since_epoch().count()},
            {"until", lease.until.time_since_epoch().count()}};
}

json encodeAttachment(const DeviceAttachment& attachment) {
    json encoded{{"device", attachment.device.uuid},
                 {"index", attachment.device.index},
                 {"kind", attachment.device.kind == DeviceKind::Gpu ? "gpu" : "mig"},
                 {"model", attachment.device.model},
                 {"total_memory", attachment.device.totalMemory.count},
                 {"share", attachment.share.value_or(Bytes{0}).count},
                 {"over_subscribed", attachment.overSubscribed},
                 {"exempt", attachment.exempt},
                 {"since", toMicroseconds(attachment.since)},
                 {"sequence", attachment.sequence}};
    if (attachment.lease)
        encoded["lease"] = encodeLease(*attachment.lease);
    if (!attachment.keptFor.empty())
        encoded["kept_for"] = attachment.keptFor;
    if (attachment.overLimit)
        encoded["over_limit"] = true;
    if (attachment.began != BootTime{})
        encoded["began"] = attachment.began.time_since_epoch().count();
    return encoded;
}

// A single UUID is written in the format of older services, which supported only one.
void encodeUuids(const std::vector<DeviceUuid>& uuids, json& encoded) {
    if (uuids.size() == 1)
        encoded["uuid"] = uuids.front();
    else
        encoded["uuids"] = uuids;
}

json encodeRequest(const AttachRequest& request) {
    json encoded{{"over_subscribe", request.overSubscribe}};
    const auto* count = std::get_if<CountWanted>(&request.wanted);
    if (count != nullptr)
        encoded["count"] = count->count;
    else if (const auto* indices = std::get_if<IndicesWanted>(&request.wanted))
        encoded["indices"] = indices->indices;
    else
        encodeUuids(std::get<UuidsWanted>(request.wanted).uuids, encoded);
    if (count != nullptr && count->exact)
        encoded["exact"] = true;
    if (request.model)
        encoded["model"] = *request.model;
    if (request.share)
        encoded["share"] = request.share->count;
    return encoded;
}

json encodeTaking(const PendingTaking& taking) {
    return {{"victims", taking.victims},
            {"devices", taking.devices},
            {"since", toMicroseconds(taking.since)},
            {"began", taking.began.time_since_epoch().count()},
            {"estimate", taking.estimate.count()},
            {"deadline", taking.deadline.time_since_epoch().count()}};
}

json encodeWait(const Wait& wait) {
    json encoded{{"ticket", wait.ticket},
                 {"request", encodeRequest(wait.request)},
                 {"since", toMicroseconds(wait.since)},
                 {"actor", wait.actor.uid},
                 {"exempt", wait.exempt},
                 {"starts_environment", wait.startsEnvironment},
                 {"joined", wait.joined},
                 {"began", wait.began.time_since_epoch().count()}};
    if (wait.actor.login)
        encoded["login"] = *wait.actor.login;
    if (wait.lifetime)
        encoded["lifetime"] = wait.lifetime->count();
    if (wait.priority != 0)
        encoded["priority"] = wait.priority;
    if (wait.overtakings != 0)
        encoded["overtakings"] = wait.overtakings;
    if (wait.firstSince)
        encoded["first_since"] = wait.firstSince->time_since_epoch().count();
    if (wait.holdForQuota)
        encoded["hold_for_quota"] = true;
    if (wait.heldSince)
        encoded["held_since"] = wait.heldSince->time_since_epoch().count();
    if (wait.heldFor.count() > 0)
        encoded["held_for"] = wait.heldFor.count();
    if (wait.resumes)
        encoded["resumes"] = true;
    if (wait.takesOnly)
        encoded["takes_only"] = true;
    if (wait.taking)
        encoded["taking"] = encodeTaking(*wait.taking);
    return encoded;
}

json encodeLock(const HeldLock& lock) {
    return {{"number", lock.number}, {"devices", lock.devices}};
}

json encodeLockWait(const LockWait& wait) {
    return {{"ticket", wait.ticket}, {"actor", wait.actor}};
}

const char* wordOf(ParkingStep step) {
    switch (step) {
    case ParkingStep::Parked:
        return "parked";
    case ParkingStep::Resuming:
        return "resuming";
    case ParkingStep::Undoing:
        return "undoing";
    case ParkingStep::Ending:
        return "ending";
    case ParkingStep::Parking:
        break;
    }
    return "parking";
}

json encodeParked(const ParkedProcess& process) {
    json encoded = encodeIdentity(process.identity);
    encoded["command"] = process.command;
    encoded["uids"] = {process.uids.real, process.uids.effective, process.uids.saved,
                       process.uids.filesystem};
    encoded["uses"] = json::array();
    for (const ParkedUse& use : process.uses)
        encoded["uses"].push_back({{"device", use.device}, {"bytes", use.bytes.count}});
    return encoded;
}

json encodeParked(const ReleasedDevice& parked) {
    json encoded{{"device", parked.device.uuid},
                 {"index", parked.device.index},
                 {"kind", parked.device.kind == DeviceKind::Gpu ? "gpu" : "mig"},
                 {"model", parked.device.model},
                 {"total_memory", parked.device.totalMemory.count},
                 {"share", parked.share.value_or(Bytes{0}).count},
                 {"exempt", parked.exempt},
                 {"over_limit", parked.overLimit}};
    if (parked.lease)
        encoded["lease"] = encodeLease(*parked.lease);
    return encoded;
}

json encodeParking(const Parking& parking) {
    json encoded{{"step", wordOf(parking.step)},
                 {"reason", parking.reason},
                 {"actor", parking.actor.uid},
                 {"since", toMicroseconds(parking.since)},
                 {"began", parking.began.time_since_epoch().count()},
                 {"processes", json::array()},
                 {"devices", json::array()}};
    if (parking.actor.login)
        encoded["login"] = *parking.actor.login;
    if (parking.lease)
        encoded["lease"] = encodeLease(*parking.lease);
    if (parking.taker)
        encoded["taker"] = {{"ticket", parking.taker->ticket},
                            {"environment", parking.taker->environment},
                            {"uid", parking.taker->uid},
                            {"user", parking.taker->user}};
    for (const ParkedProcess& process : parking.processes)
        encoded["processes"].push_back(encodeParked(process));
    for (const ReleasedDevice& device : parking.devices)
        encoded["devices"].push_back(encodeParked(device));
    return encoded;
}

} // namespace

std::string encodeState(const EnvironmentRecord& environment) {
    json configuration = json::object();
    if (environment.configuration.name)
        configuration["name"] = *environment.configuration.name;
    if (environment.configuration.gpus)
        configuration["gpus"] = *environment.configuration.gpus;
    if (environment.configuration.gpuMemory)
        configuration["gpu_memory"] = environment.configuration.gpuMemory->count;
    if (environment.configuration.overSubscribable)
        configuration["over_subscribable"] = true;
    if (environment.configuration.preemptible != Preemptible::No)
        configuration["preemptible"] = toString(environment.configuration.preemptible);
    json document = {{"version", stateVersion},
                     {"id", environment.id},
                     {"uid", environment.uid},
                     {"user", environment.user},
                     {"created", toMicroseconds(environment.created)},
                     {"created_boot", environment.createdSinceBoot.time_since_epoch().count()},
                     {"began", environment.began.time_since_epoch().count()},
                     {"exempt", environment.exempt},
                     {"sequence", environment.sequence},
                     {"configuration", std::move(configuration)},
                     {"processes", json::array()},
                     {"kernels", json::array()},
                     {"attachments", json::array()}};
    if (environment.overLimit)
        document["over_limit"] = true;
    if (environment.lease)
        document["lease"] = encodeLease(*environment.lease);
    if (environment.pendingEnd)
        document["pending_end"] = encodePendingEnd(*environment.pendingEnd);
    if (environment.parking)
        document["parking"] = encodeParking(*environment.parking);
    if (!environment.parkingProblem.empty())
        document["parking_problem"] = environment.parkingProblem;
    if (environment.loanFailed)
        document["loan_failed"] = true;
    if (environment.job)
        document["job"] = encodeJob(*environment.job);
    if (environment.parent)
        document["parent"] = *environment.parent;
    for (const Wait& wait : environment.waits)
        document["waits"].push_back(encodeWait(wait));
    for (const HeldLock& lock : environment.locks)
        document["locks"].push_back(encodeLock(lock));
    for (const LockWait& wait : environment.lockWaits)
        document["lock_waits"].push_back(encodeLockWait(wait));
    for (const RootProcess& process : environment.processes)
        document["processes"].push_back(encodeProcess(process));
    for (const JupyterKernel& jupyterKernel : environment.jupyterKernels) {
        json encoded = encodeProcess(jupyterKernel.process);
        encoded["id"] = jupyterKernel.id;
        document["kernels"].push_back(std::move(encoded));
    }
    for (const DeviceAttachment& attachment : environment.attachments)
        document["attachments"].push_back(encodeAttachment(attachment));
    // Names from the driver and the user database may not be valid UTF-8.
    return document.dump(-1, ' ', false, json::error_handler_t::replace);
}

} // namespace genv::core
