// SPDX-License-Identifier: LGPL-2.1-or-later
// Decodes state documents; state_encoding.cpp encodes them.
#include "core/state/state_schema.hpp"

#include "core/base/error.hpp"
#include "core/base/json_reader.hpp"
#include "core/base/text.hpp"
#include "core/placement/fair_order.hpp"
#include "core/state/state_upgrades.hpp"

#include <limits>

namespace genv::core {

namespace {

// Many clients store signed 64-bit integers, so the service never writes a larger number.
constexpr std::uint64_t largestNumber = std::uint64_t{1} << 62U;

BootTime bootTime(const JsonValue& value) {
    return BootTime{std::chrono::microseconds{value.number(largestNumber)}};
}

std::vector<std::string> textsIn(const JsonValue& list) {
    std::vector<std::string> texts;
    for (const JsonValue& entry : list.list())
        texts.push_back(entry.text());
    return texts;
}

ProcessIdentity decodeIdentity(const JsonValue& value) {
    return {value["pid"].number32(std::numeric_limits<Pid>::max(), 2),
            value["start_time"].number(largestNumber)};
}

RootProcess decodeProcess(const JsonValue& value) {
    return {decodeIdentity(value), nullptr, value.booleanIfAny("lingers")};
}

PendingEnd decodePendingEnd(const JsonValue& value) {
    PendingEnd end{value["by_owner"].boolean(), {}};
    for (const JsonValue& member : value["members"].list())
        end.members.push_back(decodeIdentity(member));
    return end;
}

SlurmJob decodeJob(const JsonValue& value) {
    SlurmJob job{value["id"].number32(std::numeric_limits<SlurmJobId>::max(), 1), std::nullopt,
                 std::nullopt, value.booleanIfAny("inferred")};
    if (value.has("sluid")) {
        job.sluid = parseSluid(value["sluid"].text());
        if (!job.sluid)
            throw StateError("a job has an impossible SLUID");
    }
    if (value.has("ends"))
        job.ends = fromMicroseconds(value["ends"].number(largestNumber));
    return job;
}

Lease decodeLease(const JsonValue& value) {
    return {bootTime(value["granted"]), bootTime(value["until"])};
}

DeviceFacts decodeDevice(const JsonValue& value) {
    DeviceFacts device;
    device.uuid = value["device"].text();
    device.index = value["index"].number32();
    const std::string kind = value["kind"].text();
    if (kind != "gpu" && kind != "mig")
        throw StateError("an attachment is to an unknown kind of device");
    device.kind = kind == "gpu" ? DeviceKind::Gpu : DeviceKind::MigInstance;
    device.model = value["model"].text();
    device.totalMemory = {value["total_memory"].number(largestNumber)};
    return device;
}

DeviceAttachment decodeAttachment(const JsonValue& value) {
    DeviceAttachment attachment;
    attachment.device = decodeDevice(value);
    const Bytes share{value["share"].number(largestNumber)};
    if (share.count != 0)
        attachment.share = share;
    attachment.overSubscribed = value["over_subscribed"].boolean();
    attachment.exempt = value.booleanIfAny("exempt");
    attachment.overLimit = value.booleanIfAny("over_limit");
    if (value.has("began"))
        attachment.began = bootTime(value["began"]);
    attachment.since = fromMicroseconds(value["since"].number(largestNumber));
    attachment.sequence = value["sequence"].number(largestNumber);
    attachment.lease = value.ifAny("lease", decodeLease);
    for (const JsonValue& ticket : value.listIfAny("kept_for"))
        attachment.keptFor.push_back(ticket.number(largestNumber));
    return attachment;
}

ParkingStep decodeStep(const std::string& word) {
    if (word == "parking")
        return ParkingStep::Parking;
    if (word == "parked")
        return ParkingStep::Parked;
    if (word == "resuming")
        return ParkingStep::Resuming;
    if (word == "undoing")
        return ParkingStep::Undoing;
    if (word == "ending")
        return ParkingStep::Ending;
    throw StateError("a parking is at an unknown step");
}

ParkedProcess decodeParkedProcess(const JsonValue& value) {
    ParkedProcess process;
    process.identity = decodeIdentity(value);
    process.command = value["command"].text();
    const auto uids = value["uids"].listOf(4);
    process.uids = {uids[0].number32(), uids[1].number32(), uids[2].number32(), uids[3].number32()};
    for (const JsonValue& use : value["uses"].list())
        process.uses.push_back({use["device"].text(), Bytes{use["bytes"].number(largestNumber)}});
    return process;
}

ReleasedDevice decodeReleasedDevice(const JsonValue& value) {
    ReleasedDevice parked;
    parked.device = decodeDevice(value);
    if (const Bytes share{value["share"].number(largestNumber)}; share.count != 0)
        parked.share = share;
    parked.exempt = value["exempt"].boolean();
    parked.overLimit = value["over_limit"].boolean();
    parked.lease = value.ifAny("lease", decodeLease);
    return parked;
}

Taker decodeTaker(const JsonValue& value) {
    Taker taker;
    taker.ticket = value["ticket"].number(largestNumber);
    taker.environment = value["environment"].text();
    requireIdentifier(taker.environment, "environment");
    taker.uid = value["uid"].number32();
    taker.user = value["user"].text();
    return taker;
}

Parking decodeParking(const JsonValue& value) {
    Parking parking;
    parking.step = decodeStep(value["step"].text());
    parking.reason = value["reason"].text();
    parking.actor = value["actor"].number32();
    if (value.has("login"))
        parking.actor.login = value["login"].number32();
    parking.since = fromMicroseconds(value["since"].number(largestNumber));
    parking.began = bootTime(value["began"]);
    parking.lease = value.ifAny("lease", decodeLease);
    parking.taker = value.ifAny("taker", decodeTaker);
    for (const JsonValue& process : value["processes"].list())
        parking.processes.push_back(decodeParkedProcess(process));
    for (const JsonValue& device : value["devices"].list())
        parking.devices.push_back(decodeReleasedDevice(device));
    return parking;
}

AttachRequest decodeRequest(const JsonValue& value) {
    AttachRequest request;
    if (value.has("count")) {
        request.wanted = CountWanted{value["count"].number32(), value.booleanIfAny("exact")};
    } else if (value.has("indices")) {
        IndicesWanted wanted;
        for (const JsonValue& index : value["indices"].list())
            wanted.indices.push_back(index.number32());
        request.wanted = std::move(wanted);
    } else if (value.has("uuids")) {
        request.wanted = UuidsWanted{textsIn(value["uuids"])};
    } else {
        request.wanted = UuidsWanted{{value["uuid"].text()}};
    }
    if (value.has("model"))
        request.model = value["model"].text();
    if (value.has("share"))
        request.share = Bytes{value["share"].number(largestNumber)};
    request.overSubscribe = value["over_subscribe"].boolean();
    return request;
}

PendingTaking decodeTaking(const JsonValue& value) {
    PendingTaking taking;
    taking.victims = textsIn(value["victims"]);
    for (const EnvironmentId& victim : taking.victims)
        requireIdentifier(victim, "victim");
    taking.devices = textsIn(value["devices"]);
    taking.since = fromMicroseconds(value["since"].number(largestNumber));
    taking.began = bootTime(value["began"]);
    taking.estimate = std::chrono::milliseconds{
        static_cast<std::int64_t>(value["estimate"].number(largestNumber / 4000))};
    taking.deadline = bootTime(value["deadline"]);
    return taking;
}

Wait decodeWait(const JsonValue& value) {
    Wait wait;
    wait.ticket = value["ticket"].number(largestNumber);
    wait.request = decodeRequest(value["request"]);
    wait.since = fromMicroseconds(value["since"].number(largestNumber));
    wait.actor = value["actor"].number32();
    if (value.has("login"))
        wait.actor.login = value["login"].number32();
    wait.exempt = value["exempt"].boolean();
    wait.startsEnvironment = value["starts_environment"].boolean();
    wait.joined = value["joined"].boolean();
    if (value.has("lifetime"))
        wait.lifetime = std::chrono::seconds{value["lifetime"].number32()};
    if (value.has("began"))
        wait.began = bootTime(value["began"]);
    if (value.has("priority"))
        wait.priority = static_cast<std::int32_t>(value["priority"].signedNumber(maxPriority));
    if (value.has("overtakings"))
        wait.overtakings = value["overtakings"].number32();
    wait.firstSince = value.ifAny("first_since", bootTime);
    wait.holdForQuota = value.booleanIfAny("hold_for_quota");
    wait.heldSince = value.ifAny("held_since", bootTime);
    if (value.has("held_for"))
        wait.heldFor = std::chrono::microseconds{
            static_cast<std::int64_t>(value["held_for"].number(largestNumber / 4))};
    wait.resumes = value.booleanIfAny("resumes");
    wait.takesOnly = value.booleanIfAny("takes_only");
    wait.taking = value.ifAny("taking", decodeTaking);
    return wait;
}

HeldLock decodeLock(const JsonValue& value) {
    return {value["number"].number(largestNumber), textsIn(value["devices"])};
}

LockWait decodeLockWait(const JsonValue& value) {
    return {value["ticket"].number(largestNumber), value["actor"].number32()};
}

Preemptible decodePreemptible(const std::string& word) {
    const auto preemptible = parsePreemptible(word);
    if (!preemptible)
        throw StateError("an environment is preemptible in an unknown way");
    return *preemptible;
}

EnvironmentConfiguration decodeConfiguration(const JsonValue& value) {
    EnvironmentConfiguration configuration;
    if (value.has("name")) {
        configuration.name = value["name"].text();
        requireName(*configuration.name);
    }
    if (value.has("gpus"))
        configuration.gpus = value["gpus"].number32();
    if (value.has("gpu_memory"))
        configuration.gpuMemory = Bytes{value["gpu_memory"].number(largestNumber)};
    configuration.overSubscribable = value.booleanIfAny("over_subscribable");
    if (value.has("preemptible"))
        configuration.preemptible = decodePreemptible(value["preemptible"].text());
    return configuration;
}

// Decodes the newest version; state_upgrades.hpp explains how to add a key or a version.
EnvironmentRecord decodeEnvironment(const JsonValue& document) {
    EnvironmentRecord environment;
    environment.id = document["id"].text();
    requireIdentifier(environment.id, "id");
    environment.uid = document["uid"].number32();
    environment.user = document["user"].text();
    environment.created = fromMicroseconds(document["created"].number(largestNumber));
    if (document.has("created_boot"))
        environment.createdSinceBoot = bootTime(document["created_boot"]);
    if (document.has("began"))
        environment.began = bootTime(document["began"]);
    environment.exempt = document.booleanIfAny("exempt");
    environment.overLimit = document.booleanIfAny("over_limit");
    environment.sequence = document["sequence"].number(largestNumber);
    environment.configuration = decodeConfiguration(document["configuration"]);
    for (const JsonValue& process : document["processes"].list())
        environment.processes.push_back(decodeProcess(process));
    for (const JsonValue& jupyterKernel : document["kernels"].list()) {
        requireIdentifier(jupyterKernel["id"].text(), "kernel");
        environment.jupyterKernels.push_back(
            {jupyterKernel["id"].text(), decodeProcess(jupyterKernel)});
    }
    for (const JsonValue& attachment : document["attachments"].list())
        environment.attachments.push_back(decodeAttachment(attachment));
    environment.lease = document.ifAny("lease", decodeLease);
    environment.pendingEnd = document.ifAny("pending_end", decodePendingEnd);
    environment.parking = document.ifAny("parking", decodeParking);
    if (document.has("parking_problem"))
        environment.parkingProblem = document["parking_problem"].text();
    environment.loanFailed = document.booleanIfAny("loan_failed");
    environment.job = document.ifAny("job", decodeJob);
    if (document.has("parent")) {
        environment.parent = document["parent"].text();
        requireIdentifier(*environment.parent, "parent");
    }
    if (environment.job && environment.parent)
        throw StateError("a job is within no other environment");
    if (environment.job && environment.id != environmentIdOf(environment.job->id))
        throw StateError("it has another job's id");
    for (const JsonValue& wait : document.listIfAny("waits"))
        environment.waits.push_back(decodeWait(wait));
    for (const JsonValue& lock : document.listIfAny("locks"))
        environment.locks.push_back(decodeLock(lock));
    for (const JsonValue& wait : document.listIfAny("lock_waits"))
        environment.lockWaits.push_back(decodeLockWait(wait));
    return environment;
}

} // namespace

EnvironmentRecord decodeState(std::string_view document) {
    try {
        auto parsed = parseJson(document);
        upgradeDocument(parsed, stateUpgrades);
        return decodeEnvironment(JsonValue(parsed));
    } catch (const JsonError& error) {
        throw StateError(error.what());
    } catch (const Error& error) {
        throw StateError(error.what());
    }
}

} // namespace genv::core
