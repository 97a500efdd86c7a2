// SPDX-License-Identifier: LGPL-2.1-or-later
// Decodes state documents; state_encoding.cpp encodes them.
#include "core/state_schema.hpp"

#include "core/error.hpp"
#include "core/fair_order.hpp"
#include "core/state_upgrades.hpp"
#include "core/text.hpp"

#include <nlohmann/json.hpp>

#include <limits>

namespace genv::core {

namespace {

using nlohmann::json;

// Returns a field of an object after checking its type. The name always comes from this program,
// never from the document.
const json& field(const json& object, const char* name, json::value_t type) {
    const auto found = object.find(name);
    if (found == object.end())
        throw StateError(fmt::format("it lacks \"{}\"", name));
    if (found->type() != type)
        throw StateError(fmt::format("\"{}\" has the wrong type", name));
    return *found;
}

// Many clients store signed 64-bit integers, so the service never writes a larger number.
constexpr std::uint64_t largestNumber = std::uint64_t{1} << 62U;

std::uint64_t requireNumber(const json& object, const char* name,
                            std::uint64_t largest = largestNumber) {
    const auto value = field(object, name, json::value_t::number_unsigned).get<std::uint64_t>();
    if (value > largest)
        throw StateError(fmt::format("\"{}\" is out of range", name));
    return value;
}

std::uint32_t requireNumber32(const json& object, const char* name) {
    return static_cast<std::uint32_t>(
        requireNumber(object, name, std::numeric_limits<std::uint32_t>::max()));
}

const std::string& text(const json& object, const char* name) {
    return field(object, name, json::value_t::string).get_ref<const std::string&>();
}

const json& requireList(const json& object, const char* name) {
    return field(object, name, json::value_t::array);
}

bool flag(const json& object, const char* name) {
    return field(object, name, json::value_t::boolean).get<bool>();
}

// For keys that earlier documents of the same version lack.
bool flagIfAny(const json& object, const char* name) {
    return object.contains(name) && flag(object, name);
}

json listIfAny(const json& object, const char* name) {
    return object.contains(name) ? requireList(object, name) : json::array();
}

BootTime bootTime(const json& object, const char* name) {
    return BootTime{std::chrono::microseconds{requireNumber(object, name)}};
}

void requireObject(const json& value, const char* what) {
    if (!value.is_object())
        throw StateError(fmt::format("{} is not an object", what));
}

ProcessIdentity decodeIdentity(const json& value) {
    requireObject(value, "a process");
    const std::uint32_t pid = requireNumber32(value, "pid");
    if (pid <= 1)
        throw StateError("a process has an impossible pid");
    return {pid, requireNumber(value, "start_time")};
}

RootProcess decodeProcess(const json& value) {
    return {decodeIdentity(value), nullptr, flagIfAny(value, "lingers")};
}

std::optional<PendingEnd> pendingEndIfAny(const json& object) {
    if (!object.contains("pending_end"))
        return std::nullopt;
    const json& value = field(object, "pending_end", json::value_t::object);
    PendingEnd end{flag(value, "by_owner"), {}};
    for (const json& member : requireList(value, "members"))
        end.members.push_back(decodeIdentity(member));
    return end;
}

std::optional<SlurmJob> jobIfAny(const json& object) {
    if (!object.contains("job"))
        return std::nullopt;
    const json& value = field(object, "job", json::value_t::object);
    SlurmJob job{requireNumber32(value, "id"), std::nullopt, std::nullopt,
                 flagIfAny(value, "inferred")};
    if (job.id == 0)
        throw StateError("a job has an impossible number");
    if (value.contains("sluid")) {
        job.sluid = parseSluid(text(value, "sluid"));
        if (!job.sluid)
            throw StateError("a job has an impossible SLUID");
    }
    if (value.contains("ends"))
        job.ends = fromMicroseconds(requireNumber(value, "ends"));
    return job;
}

std::optional<Lease> leaseIfAny(const json& object) {
    if (!object.contains("lease"))
        return std::nullopt;
    const json& lease = field(object, "lease", json::value_t::object);
    return Lease{bootTime(lease, "granted"), bootTime(lease, "until")};
}

Attachment decodeAttachment(const json& value) {
    requireObject(value, "an attachment");
    Attachment attachment;
    attachment.device.uuid = text(value, "device");
    attachment.device.index = requireNumber32(value, "index");
    const std::string& kind = text(value, "kind");
    if (kind != "gpu" && kind != "mig")
        throw StateError("an attachment is to an unknown kind of device");
    attachment.device.kind = kind == "gpu" ? DeviceKind::Gpu : DeviceKind::MigInstance;
    attachment.device.model = text(value, "model");
    attachment.device.totalMemory = {requireNumber(value, "total_memory")};
    const Bytes share{requireNumber(value, "share")};
    if (share.count != 0)
        attachment.share = share;
    attachment.overSubscribed = flag(value, "over_subscribed");
    attachment.exempt = flagIfAny(value, "exempt");
    attachment.overLimit = flagIfAny(value, "over_limit");
    if (value.contains("began"))
        attachment.began = bootTime(value, "began");
    attachment.since = fromMicroseconds(requireNumber(value, "since"));
    attachment.sequence = requireNumber(value, "sequence");
    attachment.lease = leaseIfAny(value);
    for (const json& ticket : listIfAny(value, "kept_for")) {
        if (!ticket.is_number_unsigned() || ticket.get<std::uint64_t>() > largestNumber)
            throw StateError("an attachment was kept for an impossible request");
        attachment.keptFor.push_back(ticket.get<std::uint64_t>());
    }
    return attachment;
}

AttachRequest decodeRequest(const json& value) {
    AttachRequest request;
    if (value.contains("count")) {
        request.wanted = CountWanted{requireNumber32(value, "count"), flagIfAny(value, "exact")};
    } else if (value.contains("indices")) {
        IndicesWanted wanted;
        for (const json& index : requireList(value, "indices")) {
            if (!index.is_number_unsigned() ||
                index.get<std::uint64_t>() > std::numeric_limits<DeviceIndex>::max())
                throw StateError("a request has an impossible index");
            wanted.indices.push_back(index.get<DeviceIndex>());
        }
        request.wanted = std::move(wanted);
    } else if (value.contains("uuids")) {
        UuidsWanted wanted;
        for (const json& uuid : requireList(value, "uuids")) {
            if (!uuid.is_string())
                throw StateError("a request has an impossible UUID");
            wanted.uuids.push_back(uuid.get<DeviceUuid>());
        }
        request.wanted = std::move(wanted);
    } else {
        request.wanted = UuidsWanted{{text(value, "uuid")}};
    }
    if (value.contains("model"))
        request.model = text(value, "model");
    if (value.contains("share"))
        request.share = Bytes{requireNumber(value, "share")};
    request.overSubscribe = flag(value, "over_subscribe");
    return request;
}

std::int32_t priorityIn(const json& wait) {
    const json& value = wait.at("priority");
    if (!value.is_number_integer() || value < -maxPriority || value > maxPriority)
        throw StateError("a wait has an impossible priority");
    return value.get<std::int32_t>();
}

Wait decodeWait(const json& value) {
    requireObject(value, "a wait");
    Wait wait;
    wait.ticket = requireNumber(value, "ticket");
    wait.request = decodeRequest(field(value, "request", json::value_t::object));
    wait.since = fromMicroseconds(requireNumber(value, "since"));
    wait.actor = requireNumber32(value, "actor");
    if (value.contains("login"))
        wait.actor.login = requireNumber32(value, "login");
    wait.exempt = flag(value, "exempt");
    wait.startsEnvironment = flag(value, "starts_environment");
    wait.joined = flag(value, "joined");
    if (value.contains("lifetime"))
        wait.lifetime = std::chrono::seconds{requireNumber32(value, "lifetime")};
    if (value.contains("began"))
        wait.began = bootTime(value, "began");
    if (value.contains("priority"))
        wait.priority = priorityIn(value);
    if (value.contains("overtakings"))
        wait.overtakings = requireNumber32(value, "overtakings");
    if (value.contains("first_since"))
        wait.firstSince = bootTime(value, "first_since");
    wait.holdForQuota = flagIfAny(value, "hold_for_quota");
    if (value.contains("held_since"))
        wait.heldSince = bootTime(value, "held_since");
    if (value.contains("held_for"))
        wait.heldFor = std::chrono::microseconds{
            static_cast<std::int64_t>(requireNumber(value, "held_for", largestNumber / 4))};
    return wait;
}

HeldLock decodeLock(const json& value) {
    requireObject(value, "a lock");
    HeldLock lock{requireNumber(value, "number"), {}};
    for (const json& device : requireList(value, "devices")) {
        if (!device.is_string())
            throw StateError("a lock names something other than a device");
        lock.devices.push_back(device.get<std::string>());
    }
    return lock;
}

LockWait decodeLockWait(const json& value) {
    requireObject(value, "a wait for a lock");
    return {requireNumber(value, "ticket"), requireNumber32(value, "actor")};
}

Configuration decodeConfiguration(const json& value) {
    requireObject(value, "the configuration");
    Configuration configuration;
    if (value.contains("name")) {
        configuration.name = text(value, "name");
        requireName(*configuration.name);
    }
    if (value.contains("gpus"))
        configuration.gpus = requireNumber32(value, "gpus");
    if (value.contains("gpu_memory"))
        configuration.gpuMemory = Bytes{requireNumber(value, "gpu_memory")};
    configuration.overSubscribable = flagIfAny(value, "over_subscribable");
    return configuration;
}

// Decodes the newest version; state_upgrades.hpp explains how to add a key or a version.
Environment decodeEnvironment(const json& document) {
    Environment environment;
    environment.id = text(document, "id");
    requireIdentifier(environment.id, "id");
    environment.uid = requireNumber32(document, "uid");
    environment.user = text(document, "user");
    environment.created = fromMicroseconds(requireNumber(document, "created"));
    if (document.contains("created_boot"))
        environment.createdSinceBoot = bootTime(document, "created_boot");
    if (document.contains("began"))
        environment.began = bootTime(document, "began");
    environment.exempt = flagIfAny(document, "exempt");
    environment.overLimit = flagIfAny(document, "over_limit");
    environment.sequence = requireNumber(document, "sequence");
    environment.configuration =
        decodeConfiguration(field(document, "configuration", json::value_t::object));
    for (const json& process : requireList(document, "processes"))
        environment.processes.push_back(decodeProcess(process));
    for (const json& kernel : requireList(document, "kernels")) {
        requireObject(kernel, "a kernel");
        requireIdentifier(text(kernel, "id"), "kernel");
        environment.kernels.push_back({text(kernel, "id"), decodeProcess(kernel)});
    }
    for (const json& attachment : requireList(document, "attachments"))
        environment.attachments.push_back(decodeAttachment(attachment));
    environment.lease = leaseIfAny(document);
    environment.pendingEnd = pendingEndIfAny(document);
    environment.job = jobIfAny(document);
    if (document.contains("parent")) {
        environment.parent = text(document, "parent");
        requireIdentifier(*environment.parent, "parent");
    }
    if (environment.job && environment.parent)
        throw StateError("a job is within no other environment");
    if (environment.job && environment.id != environmentIdOf(environment.job->id))
        throw StateError("it has another job's id");
    for (const json& wait : listIfAny(document, "waits"))
        environment.waits.push_back(decodeWait(wait));
    for (const json& lock : listIfAny(document, "locks"))
        environment.locks.push_back(decodeLock(lock));
    for (const json& wait : listIfAny(document, "lock_waits"))
        environment.lockWaits.push_back(decodeLockWait(wait));
    return environment;
}

} // namespace

Environment decodeState(std::string_view document) {
    // The parser's own message would quote the document, which may be hostile.
    json parsed = json::parse(document, nullptr, false);
    if (parsed.is_discarded())
        throw StateError("it is not JSON");
    try {
        upgradeDocument(parsed, stateUpgrades);
        return decodeEnvironment(parsed);
    } catch (const Error& error) {
        throw StateError(error.what());
    }
}

} // namespace genv::core
