// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dbus/manager_object.hpp"

#include "core/error.hpp"
#include "core/limit_use.hpp"
#include "core/membership.hpp"
#include "core/snapshot.hpp"
#include "dbus/activation.hpp"
#include "dbus/contract/names.hpp"
#include "dbus/environment_options.hpp"
#include "dbus/handlers.hpp"
#include "dbus/paths.hpp"

#include <algorithm>
#include <limits>
#include <optional>

namespace genv::dbus {

namespace {

constexpr Literal interface { "dev.genv.Manager" };

const core::ComputeProcess& findComputeProcess(const core::Observation& observation,
                                               core::Pid pid) {
    const auto found =
        std::find_if(observation.processes.begin(), observation.processes.end(),
                     [&](const core::ComputeProcess& p) { return p.facts.identity.pid == pid; });
    if (found == observation.processes.end())
        core::fail(core::ErrorCode::NoSuchProcess, "no process {} uses a GPU", pid);
    return *found;
}

core::Judged judge(const core::ComputeProcess& process, const core::Environment* environment,
                   core::Uid actor) {
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

} // namespace

ManagerObject::ManagerObject(sdbus::IConnection& connection, const Context& context,
                             std::string version)
    : AdaptorInterfaces(connection, contract::managerPath), context_(context),
      version_(std::move(version)),
      enforcement_(context.policing.enforcer, context.calls, context.runtime, getObject()),
      histories_(context.machine, context.calls, context.runtime.clock) {
    registerAdaptor();
}

ManagerObject::~ManagerObject() {
    unregisterAdaptor();
}

void ManagerObject::emitChanged(const std::vector<std::string>& properties) {
    emitPropertiesChangedSignal(Manager_adaptor::INTERFACE_NAME, properties);
}

void ManagerObject::Activate(sdbus::Result<std::string, sdbus::ObjectPath>&& result,
                             Variants options) {
    handle<interface, "Activate">(
        context_.calls, getObject(), std::move(result),
        [&](const ActivateReply& reply) { activate(context_, reply, std::move(options)); });
}

std::vector<sdbus::Struct<std::string, uint32_t, std::string, std::string, uint64_t,
                          std::vector<uint32_t>, sdbus::ObjectPath>>
ManagerObject::ListEnvironments() {
    return answer<interface, "ListEnvironments">(context_.calls, getObject(), [this] {
        std::vector<sdbus::Struct<std::string, uint32_t, std::string, std::string, uint64_t,
                                  std::vector<uint32_t>, sdbus::ObjectPath>>
            rows;
        rows.reserve(context_.sharing.ledger.environments().size());
        for (const auto& [sequence, environment] : context_.sharing.ledger.environments())
            rows.emplace_back(environment.id, environment.uid, environment.user,
                              environment.configuration.name.value_or(""),
                              core::toMicroseconds(environment.created), rootPids(environment),
                              environmentPath(environment.id));
        return rows;
    });
}

std::vector<sdbus::Struct<uint32_t, std::string, std::string, uint64_t, sdbus::ObjectPath>>
ManagerObject::ListDevices() {
    return answer<interface, "ListDevices">(context_.calls, getObject(), [this] {
        std::vector<sdbus::Struct<uint32_t, std::string, std::string, uint64_t, sdbus::ObjectPath>>
            rows;
        for (const auto& [index, device] : context_.sharing.ledger.devices().byIndex())
            rows.emplace_back(index, device.facts.uuid, device.facts.model,
                              device.facts.totalMemory.count, devicePath(index));
        return rows;
    });
}

std::vector<sdbus::Struct<uint32_t, std::string, std::string, uint64_t, uint64_t>>
ManagerObject::ListAttachments() {
    return answer<interface, "ListAttachments">(context_.calls, getObject(), [this] {
        std::vector<sdbus::Struct<uint32_t, std::string, std::string, uint64_t, uint64_t>> rows;
        for (const auto& [index, device] : context_.sharing.ledger.devices().byIndex()) {
            for (const core::Claim& claim : device.claims)
                rows.emplace_back(
                    index, claim.environment,
                    context_.sharing.ledger.get(claim.environment).configuration.name.value_or(""),
                    claim.attachment.share.value_or(core::Bytes{0}).count,
                    core::toMicroseconds(claim.attachment.since));
        }
        return rows;
    });
}

template <typename... Values, typename Use>
void ManagerObject::withObservation(const Reply<Values...>& reply, Use use) {
    const auto place = context_.calls.listCalls.enter(reply.caller().uid);
    context_.machine.observer.observe(
        core::freshSample,
        reply.later([place, use = std::move(use)](
                        const std::shared_ptr<const core::Observation>& observation,
                        const std::string& failure) {
            if (!observation)
                core::fail(core::ErrorCode::Timeout, "the GPU driver does not answer: {}", failure);
            use(*observation);
        }));
}

void ManagerObject::ListProcesses(sdbus::Result<ProcessRows>&& result) {
    handle<interface, "ListProcesses">(
        context_.calls, getObject(), std::move(result), [&](const auto& reply) {
            withObservation(reply, [&ledger = context_.sharing.ledger,
                                    reply](const core::Observation& observation) {
                const core::EnvironmentLookup lookup = core::lookupIn(ledger);
                ProcessRows rows;
                for (const core::ComputeProcess& process : observation.processes) {
                    std::vector<sdbus::Struct<uint32_t, uint64_t>> uses;
                    for (const core::ComputeUse& use : process.uses) {
                        if (const core::Device* device = ledger.devices().findUuid(use.device))
                            uses.emplace_back(device->facts.index,
                                              use.usedMemory
                                                  ? use.usedMemory->count
                                                  : std::numeric_limits<uint64_t>::max());
                    }
                    const core::Environment* environment = core::environmentOf(lookup, process);
                    rows.emplace_back(process.facts.identity.pid, process.user(),
                                      environment != nullptr ? environment->id : "",
                                      std::move(uses));
                }
                reply.send(rows);
            });
        });
}

sdbus::ObjectPath ManagerObject::GetEnvironment(const std::string& id) {
    return answer<interface, "GetEnvironment">(context_.calls, getObject(), [&] {
        return environmentPath(context_.sharing.ledger.get(id).id);
    });
}

sdbus::ObjectPath ManagerObject::GetDevice(const uint32_t& index) {
    return answer<interface, "GetDevice">(context_.calls, getObject(), [&] {
        return devicePath(context_.sharing.ledger.device(index).facts.index);
    });
}

void ManagerObject::GetEnvironmentByPID(sdbus::Result<sdbus::ObjectPath>&& result, uint32_t pid) {
    handle<interface, "GetEnvironmentByPID">(
        context_.calls, getObject(), std::move(result), [&](const auto& reply) {
            const core::Pid wanted = pid != 0 ? pid : reply.caller().pid;
            // A root process is known by its pidfd.
            const auto root = context_.machine.processes.pinned(wanted);
            const core::Environment* own =
                root ? context_.sharing.ledger.environmentOfRoot(*root) : nullptr;
            if (own != nullptr) {
                reply.send(environmentPath(own->id));
                return;
            }
            context_.machine.processes.lineage(
                wanted, reply.caller().uid,
                reply.later([&ledger = context_.sharing.ledger, reply, wanted,
                             place = context_.calls.listCalls.enter(reply.caller().uid)](
                                const core::ProcessRead<core::Lineage>& read) {
                    const core::Lineage& lineage = read.get();
                    const core::Environment* environment = core::environmentOfDescendant(
                        core::lookupIn(ledger), lineage.facts, lineage.ancestors);
                    if (environment == nullptr)
                        core::fail(core::ErrorCode::NoSuchEnvironment,
                                   "process {} is in no environment", wanted);
                    reply.send(environmentPath(environment->id));
                }));
        });
}

void ManagerObject::Snapshot(sdbus::Result<std::string>&& result) {
    handle<interface, "Snapshot">(
        context_.calls, getObject(), std::move(result), [&](const auto& reply) {
            withObservation(reply, [&ledger = context_.sharing.ledger,
                                    reply](const core::Observation& observation) {
                reply.send(core::snapshot(ledger, observation));
            });
        });
}

void ManagerObject::GetLimits(
    sdbus::Result<std::map<std::string, sdbus::Struct<uint64_t, uint64_t>>>&& result,
    uint32_t uid) {
    handle<interface, "GetLimits">(
        context_.calls, getObject(), std::move(result), [&](const auto& reply) {
            const auto place = context_.calls.listCalls.enter(reply.caller().uid);
            context_.machine.users.describeFor(
                reply.caller().uid, uid,
                reply.later([&context = context_, reply, place](const core::UserInfo& user) {
                    std::map<std::string, sdbus::Struct<uint64_t, uint64_t>> limits;
                    const auto last = context.machine.observer.last();
                    for (const core::LimitUse& use : core::limitUses(
                             context.settings.current().limits.of(user),
                             {context.sharing.ledger, user.uid, last.get(),
                              context.sharing.idleness, context.runtime.clock.bootNow()}))
                        limits.emplace(use.name,
                                       sdbus::make_struct(use.allowed.value_or(
                                                              std::numeric_limits<uint64_t>::max()),
                                                          use.used));
                    reply.send(limits);
                }));
        });
}

void ManagerObject::Enforce(sdbus::Result<Actions>&& result, Variants options) {
    handle<interface, "Enforce">(
        context_.calls, getObject(), std::move(result),
        [&](const auto& reply) { enforcement_.enforce(reply, std::move(options)); });
}

void ManagerObject::Execute(sdbus::Result<Actions>&& result, std::string report) {
    handle<interface, "Execute">(context_.calls, getObject(), std::move(result),
                                 [&](const auto& reply) { enforcement_.execute(reply, report); });
}

void ManagerObject::TerminateProcess(sdbus::Result<>&& result, uint32_t pid) {
    handle<interface, "TerminateProcess">(
        context_.calls, getObject(), std::move(result), [&](const auto& reply) {
            withObservation(reply, [&context = context_, reply,
                                    pid](const core::Observation& observation) {
                const core::ComputeProcess& process = findComputeProcess(observation, pid);
                const core::Uid caller = reply.caller().uid;
                if (caller == 0 ? context.policing.terminator.isUntouchable(process)
                                : context.policing.terminator.isProtected(process))
                    requireSignalled(core::TerminationOutcome::Protected, pid);
                const core::Environment* environment =
                    core::environmentOf(core::lookupIn(context.sharing.ledger), process);
                policy::Target target;
                target.pid = pid;
                if (environment != nullptr)
                    target.environment = environment->id;
                target.owner = process.ownerFor(caller);
                const core::Judged judged = judge(process, environment, caller);
                target.devices = context.sharing.ledger.devices().indicesOf(judged.devices);
                context.machine.users.describe(
                    *target.owner, reply.later([&context, reply, pid, target,
                                                judged](const core::UserInfo& owner) {
                        policy::Target named = target;
                        named.ownerName = owner.name;
                        context.calls.gate.pass(reply, named, [&context, reply, pid, judged] {
                            context.policing.terminator.terminate(
                                judged, reply.later([reply, pid](core::TerminationOutcome outcome) {
                                    requireSignalled(outcome, pid);
                                    reply.send();
                                }));
                        });
                    }));
            });
        });
}

std::vector<sdbus::Struct<uint64_t, std::string, uint32_t, uint32_t, uint64_t>>
ManagerObject::ListQueue() {
    return answer<interface, "ListQueue">(
        context_.calls, getObject(), [&ledger = context_.sharing.ledger] {
            std::vector<sdbus::Struct<uint64_t, std::string, uint32_t, uint32_t, uint64_t>> rows;
            for (const auto& [ticket, id] : ledger.waits()) {
                const core::Environment& environment = ledger.get(id);
                const core::Wait& wait = ledger.wait(ticket);
                rows.emplace_back(ticket, id, environment.uid,
                                  static_cast<uint32_t>(core::missing(wait.request, environment)),
                                  core::toMicroseconds(wait.since));
            }
            return rows;
        });
}

void ManagerObject::ListEvents(sdbus::Result<EventRows>&& result, uint64_t since, uint64_t until,
                               Variants filter) {
    handle<interface, "ListEvents">(
        context_.calls, getObject(), std::move(result),
        [&](const auto& reply) { histories_.list(reply, since, until, std::move(filter)); });
}

void ManagerObject::Reload(sdbus::Result<>&& result) {
    handle<interface, "Reload">(
        context_.calls, getObject(), std::move(result), [&](const auto& reply) {
            context_.calls.gate.pass(reply, {}, [&context = context_, reply] {
                context.settings.reload(reply.caller().uid);
                reply.send();
            });
        });
}

uint32_t ManagerObject::DeviceCount() {
    return static_cast<uint32_t>(context_.sharing.ledger.devices().byIndex().size());
}

uint32_t ManagerObject::EnvironmentCount() {
    return static_cast<uint32_t>(context_.sharing.ledger.environments().size());
}

ManagerObject::Variants ManagerObject::Policy() {
    if (!policy_)
        policy_ = makePolicy();
    return *policy_;
}

std::vector<std::string> ManagerObject::LimitedUsers() {
    std::vector<std::string> names;
    for (const auto& [name, limits] : context_.settings.current().limits.users)
        names.push_back(name);
    return names;
}

ManagerObject::Variants ManagerObject::makePolicy() const {
    const core::Settings& settings = context_.settings.current();
    const auto seconds = [](std::chrono::milliseconds time) {
        return sdbus::Variant{
            static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(time).count())};
    };
    Variants policy{
        {"Interval", seconds(settings.interval)},   {"Grace", seconds(settings.grace)},
        {"KillAfter", seconds(settings.killAfter)}, {"MaxWait", seconds(settings.maxWait)},
        {"KeepFor", seconds(settings.keepFor)},     {"Linger", sdbus::Variant{settings.linger}},
        {"DryRun", sdbus::Variant{settings.dryRun}}};
    for (const core::RuleDefinition& rule : core::ruleDefinitions()) {
        if (rule.toggle)
            policy.emplace(rule.toggle->key, sdbus::Variant{settings.rules.*rule.toggle->member});
    }
    return policy;
}

} // namespace genv::dbus
