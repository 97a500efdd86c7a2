// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dbus/manager/manager_object.hpp"

#include "core/base/error.hpp"
#include "core/ledger/snapshot.hpp"
#include "dbus/calls/handlers.hpp"
#include "dbus/calls/paths.hpp"
#include "dbus/contract/names.hpp"
#include "dbus/manager/activation.hpp"
#include "dbus/manager/describing.hpp"
#include "dbus/manager/environment_search.hpp"
#include "dbus/manager/observation.hpp"
#include "dbus/manager/queue_descriptions.hpp"
#include "dbus/manager/termination.hpp"
#include "dbus/manager/wait_cancelling.hpp"

#include <utility>

namespace genv::dbus {

namespace {

constexpr Literal managerInterface{"dev.genv.Manager"};

// The reply leaves once the settings are in force.
void reload(const LiveSettings& settings, const Reply<>& reply) {
    settings.reload(reply.caller().actor(), reply.later([reply] { reply.send(); }));
}

} // namespace

ManagerObject::ManagerObject(sdbus::IConnection& connection, const BusContext& context,
                             std::string version)
    : AdaptorInterfaces(connection, sdbus::ObjectPath{contract::managerPath}), context_(context),
      version_(std::move(version)), enforcement_(context.policing.enforcer, context.machine.users,
                                                 context.calls, context.runtime, getObject()),
      histories_(context.machine, context.calls, context.runtime.clock) {
    registerAdaptor();
}

ManagerObject::~ManagerObject() {
    unregisterAdaptor();
}

void ManagerObject::emitChanged(const std::vector<std::string>& properties) {
    emitPropertiesChangedSignal(compat::InterfaceName{Manager_adaptor::INTERFACE_NAME},
                                compat::memberNames(properties));
}

void ManagerObject::Activate(sdbus::Result<std::string, sdbus::ObjectPath>&& result,
                             VariantMap options) {
    handle<managerInterface, "Activate">(
        context_.calls, getObject(), std::move(result),
        [&](const ActivateReply& reply) { activate(context_, reply, std::move(options)); });
}

EnvironmentRows ManagerObject::ListEnvironments() {
    return answer<managerInterface, "ListEnvironments">(
        context_.calls, getObject(), [this] { return environmentRows(context_.sharing.ledger); });
}

DeviceRows ManagerObject::ListDevices() {
    return answer<managerInterface, "ListDevices">(
        context_.calls, getObject(), [this] { return deviceRows(context_.sharing.ledger); });
}

AttachmentRows ManagerObject::ListAttachments() {
    return answer<managerInterface, "ListAttachments">(
        context_.calls, getObject(), [this] { return attachmentRows(context_.sharing.ledger); });
}

void ManagerObject::ListProcesses(sdbus::Result<ProcessRows>&& result) {
    handle<managerInterface, "ListProcesses">(
        context_.calls, getObject(), std::move(result), [this](const auto& reply) {
            withObservation(context_.machine.observer, context_.calls, reply,
                            [&ledger = context_.sharing.ledger, reply](const auto& observation) {
                                reply.send(processRows(ledger, observation));
                            });
        });
}

void ManagerObject::DescribeProcesses(sdbus::Result<std::vector<VariantMap>>&& /*result*/) {
    handle<managerInterface, "DescribeProcesses">(
        context_.calls, getObject(), written<DescriptionRows>(),
        [this](const auto& reply) { describeProcesses(context_, reply); });
}

ReadingRows ManagerObject::ListReadings(const uint64_t& since) {
    return answer<managerInterface, "ListReadings">(context_.calls, getObject(), [&] {
        return readingRows(context_.sharing.readings, since, context_.sharing.ledger.devices());
    });
}

sdbus::ObjectPath ManagerObject::GetEnvironment(const std::string& id) {
    return answer<managerInterface, "GetEnvironment">(context_.calls, getObject(), [&] {
        return environmentPath(context_.sharing.ledger.get(id).id);
    });
}

sdbus::ObjectPath ManagerObject::GetDevice(const uint32_t& index) {
    return answer<managerInterface, "GetDevice">(context_.calls, getObject(), [&] {
        return devicePath(context_.sharing.ledger.device(index).facts.index);
    });
}

void ManagerObject::GetEnvironmentByPID(sdbus::Result<sdbus::ObjectPath>&& result, uint32_t pid) {
    handle<managerInterface, "GetEnvironmentByPID">(
        context_.calls, getObject(), std::move(result), [&](const auto& reply) {
            findEnvironment(context_, reply, pid != 0 ? pid : reply.caller().pid);
        });
}

void ManagerObject::Snapshot(sdbus::Result<std::string>&& result) {
    handle<managerInterface, "Snapshot">(
        context_.calls, getObject(), std::move(result), [this](const auto& reply) {
            withObservation(context_.machine.observer, context_.calls, reply,
                            [&ledger = context_.sharing.ledger, reply](const auto& observation) {
                                reply.send(core::snapshot(ledger, observation));
                            });
        });
}

void ManagerObject::GetLimits(sdbus::Result<LimitRows>&& result, uint32_t uid) {
    handle<managerInterface, "GetLimits">(context_.calls, getObject(), std::move(result),
                                          [&](const auto& reply) { listLimits(reply, uid); });
}

void ManagerObject::listLimits(const Reply<LimitRows>& reply, core::Uid uid) {
    const auto place = context_.calls.listCalls.enter(reply.caller().uid);
    context_.machine.users.describeFor(
        reply.caller().uid, uid,
        reply.later([&context = context_, reply, place](const core::UserInfo& user) {
            const auto last = context.machine.observer.last();
            reply.send(limitRows(
                core::limitUses(context.settings.current().limits.of(user),
                                {context.sharing.ledger, user.uid, last.get(),
                                 context.sharing.idleness, context.runtime.clock.bootNow()})));
        }));
}

void ManagerObject::Enforce(sdbus::Result<Actions>&& result, VariantMap options) {
    handle<managerInterface, "Enforce">(
        context_.calls, getObject(), std::move(result),
        [&](const auto& reply) { enforcement_.enforce(reply, std::move(options)); });
}

void ManagerObject::Execute(sdbus::Result<Actions>&& result, std::string report) {
    handle<managerInterface, "Execute">(
        context_.calls, getObject(), std::move(result),
        [&](const auto& reply) { enforcement_.execute(reply, report); });
}

void ManagerObject::TerminateProcess(sdbus::Result<>&& result, uint32_t pid) {
    handle<managerInterface, "TerminateProcess">(
        context_.calls, getObject(), std::move(result),
        [&](const auto& reply) { terminateProcess(context_, reply, pid); });
}

QueueRows ManagerObject::ListQueue() {
    return answer<managerInterface, "ListQueue">(context_.calls, getObject(), [this] {
        return queueRows(context_.sharing.ledger, context_.sharing.queue);
    });
}

std::vector<VariantMap> ManagerObject::DescribeQueue() {
    return answer<managerInterface, "DescribeQueue">(context_.calls, getObject(), [this] {
        return queueDescriptions(context_.sharing.queue, context_.sharing.ledger,
                                 context_.sharing.lending, context_.runtime.clock,
                                 context_.settings.current().order);
    });
}

void ManagerObject::ListUse(sdbus::Result<UseRows>&& result, VariantMap filter) {
    handle<managerInterface, "ListUse">(
        context_.calls, getObject(), std::move(result),
        [&](const auto& reply) { listUse(context_, reply, std::move(filter)); });
}

void ManagerObject::CancelWait(sdbus::Result<>&& result, uint64_t ticket) {
    handle<managerInterface, "CancelWait">(
        context_.calls, getObject(), std::move(result),
        [&](const auto& reply) { cancelWait(context_, reply, ticket); });
}

void ManagerObject::ListEvents(sdbus::Result<std::vector<VariantMap>>&& /*result*/, uint64_t since,
                               uint64_t until, VariantMap filter) {
    handle<managerInterface, "ListEvents">(
        context_.calls, getObject(), written<EventRows>(),
        [&](const auto& reply) { histories_.list(reply, since, until, std::move(filter)); });
}

VariantMap ManagerObject::DescribeIsolation() {
    return answer<managerInterface, "DescribeIsolation">(context_.calls, getObject(), [this] {
        // The loader may have run a moment ago, and the cycle that notices that is seconds away.
        context_.isolating.isolation.check();
        return describe(context_.isolating.isolation.report());
    });
}

void ManagerObject::ListRefusedOpens(sdbus::Result<RefusedOpenRows>&& result, VariantMap filter) {
    handle<managerInterface, "ListRefusedOpens">(
        context_.calls, getObject(), std::move(result), [&](const auto& reply) {
            listRefusedOpens(context_.isolating, context_.calls, reply, std::move(filter));
        });
}

void ManagerObject::SuspendIsolation(sdbus::Result<>&& result, bool suspended) {
    handle<managerInterface, "SuspendIsolation">(
        context_.calls, getObject(), std::move(result), [&](const auto& reply) {
            suspendIsolation(context_.isolating, context_.calls, reply, suspended);
        });
}

void ManagerObject::Reload(sdbus::Result<>&& result) {
    handle<managerInterface, "Reload">(
        context_.calls, getObject(), std::move(result), [this](const auto& reply) {
            context_.calls.gate.pass(
                reply, {}, [&settings = context_.settings, reply] { reload(settings, reply); });
        });
}

std::string ManagerObject::DriverVersion() {
    const auto last = context_.machine.observer.last();
    return last ? last->driverVersion : "";
}

uint32_t ManagerObject::DeviceCount() {
    return static_cast<uint32_t>(context_.sharing.ledger.devices().byIndex().size());
}

uint32_t ManagerObject::EnvironmentCount() {
    return static_cast<uint32_t>(context_.sharing.ledger.environments().size());
}

VariantMap ManagerObject::Policy() {
    if (!policy_)
        policy_ = policyOf(context_.settings.current());
    return *policy_;
}

std::string ManagerObject::Isolation() {
    return core::toString(context_.isolating.isolation.inForce());
}

std::vector<std::string> ManagerObject::LimitedUsers() {
    std::vector<std::string> names;
    for (const auto& [name, limits] : context_.settings.current().limits.users)
        names.push_back(name);
    return names;
}

} // namespace genv::dbus
