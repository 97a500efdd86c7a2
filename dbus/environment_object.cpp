// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dbus/environment_object.hpp"

#include "core/error.hpp"
#include "dbus/adding.hpp"
#include "dbus/attaching.hpp"
#include "dbus/configuring.hpp"
#include "dbus/environment_options.hpp"
#include "dbus/handlers.hpp"
#include "dbus/paths.hpp"
#include "dbus/removing.hpp"
#include "dbus/waiting_calls.hpp"

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <utility>

namespace genv::dbus {

namespace {

constexpr Literal environmentInterface{"dev.genv.Environment"};

/// Sends the caller its end of a lock. sdbus-c++ duplicates the descriptor twice. If that fails, it
/// throws its own error, or in version 2 a system error.
void sendLock(const Reply<sdbus::UnixFd>& reply, const core::LockEnd& lock) {
    try {
        reply.send(sdbus::UnixFd(lock.descriptor()));
    } catch (const std::runtime_error&) {
        core::fail(core::ErrorCode::LimitsExceeded,
                   "the lock could not be passed on, as descriptors or memory are short; try again "
                   "later");
    }
}

void awaitLock(const Sharing& sharing, const Calls& calls, const Reply<sdbus::UnixFd>& reply,
               const core::Environment& environment) {
    // The ticket is known only after the callback was passed on.
    const auto ticket = std::make_shared<core::Locks::Ticket>();
    const auto remembered = calls.waitingCalls.remember(
        reply, [&locks = sharing.locks, ticket] { locks.cancel(*ticket); });
    *ticket = sharing.locks.request(
        environment.id, reply.caller().uid,
        reply.later([reply, remembered](const core::LockEnd* lock, const core::Error* refusal) {
            if (refusal != nullptr)
                throw core::Error(*refusal);
            sendLock(reply, *lock);
        }));
}

} // namespace

EnvironmentObject::EnvironmentObject(sdbus::IConnection& connection, const Context& context,
                                     core::EnvironmentId id)
    : AdaptorInterfaces(connection, environmentPath(id)), context_(context), id_(std::move(id)),
      seen_(&context.sharing.ledger.get(id_)) {}

EnvironmentObject::~EnvironmentObject() {
    unregisterAdaptor();
}

void EnvironmentObject::retire(const core::Environment& former) {
    former_ = former;
    seen_ = &*former_;
}

const core::Environment& EnvironmentObject::manageable() const {
    core::requireNoJob(self());
    return self();
}

void EnvironmentObject::ensureRegistered() {
    if (isRegistered_)
        return;
    registerAdaptor();
    isRegistered_ = true;
}

void EnvironmentObject::write(ManagedObjectsWriter& writer) {
    writer.write<EnvironmentProperties>(Environment_adaptor::INTERFACE_NAME, *this);
}

void EnvironmentObject::emitAdded() {
    ensureRegistered();
    emitInterfacesAddedSignal({compat::InterfaceName{Environment_adaptor::INTERFACE_NAME}});
}

void EnvironmentObject::emitRemoved() {
    emitInterfacesRemovedSignal({compat::InterfaceName{Environment_adaptor::INTERFACE_NAME}});
}

void EnvironmentObject::emitChanged(const std::vector<std::string>& properties) {
    ensureRegistered();
    emitPropertiesChangedSignal(compat::InterfaceName{Environment_adaptor::INTERFACE_NAME},
                                compat::memberNames(properties));
}

template <typename... Values, typename Act>
void EnvironmentObject::manage(const Reply<Values...>& reply,
                               std::vector<core::DeviceIndex> devices, Act act) {
    const core::Environment& environment = self();
    policy::Target target = targetOf(environment);
    target.devices = std::move(devices);
    context_.calls.gate.pass(
        reply, target,
        [&ledger = context_.sharing.ledger, id = id_, sequence = environment.sequence,
         act = std::move(act)] { act(sameEnvironment(ledger, id, sequence)); });
}

void EnvironmentObject::Attach(sdbus::Result<std::vector<uint32_t>>&& result,
                               std::map<std::string, sdbus::Variant> options) {
    handle<environmentInterface, "Attach">(
        context_.calls, getObject(), std::move(result),
        [&](const auto& reply) { attach(context_, reply, manageable(), std::move(options)); });
}

void EnvironmentObject::Detach(sdbus::Result<std::vector<uint32_t>>&& result,
                               std::vector<uint32_t> indices) {
    handle<environmentInterface, "Detach">(
        context_.calls, getObject(), std::move(result), [&](const auto& reply) {
            core::requireAttached(manageable(), indices);
            const auto devices = indices.empty() ? self().deviceIndices() : indices;
            manage(reply, devices,
                   [&ledger = context_.sharing.ledger, reply,
                    indices](const core::Environment& environment) {
                       const core::EnvironmentId id = environment.id;
                       ledger.detach(id, indices, reply.caller().actor());
                       // A lingering environment ends with its last device.
                       const core::Environment* remaining = ledger.find(id);
                       reply.send(remaining != nullptr ? remaining->deviceIndices()
                                                       : std::vector<core::DeviceIndex>{});
                   });
        });
}

void EnvironmentObject::Configure(sdbus::Result<>&& result,
                                  std::map<std::string, sdbus::Variant> set,
                                  std::vector<std::string> unset) {
    handle<environmentInterface, "Configure">(
        context_.calls, getObject(), std::move(result), [&](const auto& reply) {
            configure(context_, reply, self(), readConfigurationChange(std::move(set), unset));
        });
}

void EnvironmentObject::AddProcess(sdbus::Result<>&& result, uint32_t pid) {
    handle<environmentInterface, "AddProcess">(
        context_.calls, getObject(), std::move(result),
        [&](const auto& reply) { addProcess(context_, reply, manageable(), pid); });
}

void EnvironmentObject::RemoveProcess(sdbus::Result<>&& result, uint32_t pid) {
    handle<environmentInterface, "RemoveProcess">(
        context_.calls, getObject(), std::move(result),
        [&](const auto& reply) { removeProcess(context_, reply, manageable(), pid); });
}

void EnvironmentObject::RemoveProcessByPIDFD(sdbus::Result<>&& result, sdbus::UnixFd process) {
    handle<environmentInterface, "RemoveProcessByPIDFD">(
        context_.calls, getObject(), std::move(result), [&](const auto& reply) {
            removeProcessByPidfd(context_, reply, manageable(), process.get());
        });
}

void EnvironmentObject::AddKernel(sdbus::Result<>&& result, std::string kernel) {
    handle<environmentInterface, "AddKernel">(
        context_.calls, getObject(), std::move(result),
        [&](const auto& reply) { addKernel(context_, reply, manageable(), kernel); });
}

void EnvironmentObject::RemoveKernel(sdbus::Result<>&& result, std::string kernel) {
    handle<environmentInterface, "RemoveKernel">(
        context_.calls, getObject(), std::move(result), [&](const auto& reply) {
            const auto& kernels = manageable().kernels;
            if (std::none_of(kernels.begin(), kernels.end(),
                             [&](const core::Kernel& known) { return known.id == kernel; }))
                core::fail(core::ErrorCode::NoSuchProcess,
                           "kernel \"{}\" is not registered with environment {}",
                           core::escaped(kernel), id_);
            manage(
                reply, {},
                [&sharing = context_.sharing, reply, kernel](const core::Environment& environment) {
                    const core::EnvironmentId id = environment.id;
                    sharing.ledger.removeKernel(id, kernel, reply.caller().actor());
                    sendWhenSettled(sharing, reply, id);
                });
        });
}

void EnvironmentObject::Deactivate(sdbus::Result<>&& result) {
    handle<environmentInterface, "Deactivate">(
        context_.calls, getObject(), std::move(result), [&](const auto& reply) {
            if (reply.caller().uid != 0) // Slurm's epilog runs as root
                core::requireNoJob(self());
            manage(reply, self().deviceIndices(),
                   [&sharing = context_.sharing, reply](const core::Environment& environment) {
                       const core::EnvironmentId id = environment.id;
                       sharing.ledger.deactivate(id, reply.caller().actor());
                       sendWhenSettled(sharing, reply, id);
                   });
        });
}

void EnvironmentObject::Lock(sdbus::Result<sdbus::UnixFd>&& result) {
    handle<environmentInterface, "Lock">(
        context_.calls, getObject(), std::move(result), [&](const auto& reply) {
            manage(reply, self().deviceIndices(),
                   [&context = context_, reply](const core::Environment& environment) {
                       awaitLock(context.sharing, context.calls, reply, environment);
                   });
        });
}

uint32_t EnvironmentObject::Uid() {
    return readProperty([this] { return seen().uid; });
}

std::string EnvironmentObject::User() {
    return readProperty([this] { return seen().user; });
}

std::string EnvironmentObject::Name() {
    return readProperty([this] { return seen().configuration.name.value_or(""); });
}

uint64_t EnvironmentObject::Created() {
    return readProperty([this] { return core::toMicroseconds(seen().created); });
}

uint32_t EnvironmentObject::Gpus() {
    return readProperty([this] { return seen().configuration.gpus.value_or(0); });
}

uint64_t EnvironmentObject::GpuMemory() {
    return readProperty(
        [this] { return seen().configuration.gpuMemory.value_or(core::Bytes{0}).count; });
}

bool EnvironmentObject::OverSubscribable() {
    return readProperty([this] { return seen().configuration.overSubscribable; });
}

std::vector<uint32_t> EnvironmentObject::Processes() {
    return readProperty([this] { return rootPids(seen()); });
}

std::vector<std::string> EnvironmentObject::Kernels() {
    return readProperty([this] {
        std::vector<std::string> ids;
        for (const core::Kernel& kernel : seen().kernels)
            ids.push_back(kernel.id);
        return ids;
    });
}

std::vector<uint32_t> EnvironmentObject::Devices() {
    return readProperty([this] { return seen().deviceIndices(); });
}

std::vector<sdbus::Struct<uint32_t, uint64_t>> EnvironmentObject::Attached() {
    return readProperty([this] {
        const auto jobEnd = seen().jobEnd();
        std::vector<sdbus::Struct<uint32_t, uint64_t>> rows;
        for (const auto& [index, end] : seen().deviceEnds())
            rows.emplace_back(index, jobEnd ? core::toMicroseconds(*jobEnd)
                                     : end  ? microsecondsOf(*end)
                                            : 0);
        return rows;
    });
}

uint64_t EnvironmentObject::Expires() {
    return readProperty([this]() -> uint64_t {
        if (const auto end = seen().jobEnd())
            return core::toMicroseconds(*end);
        const auto lease = seen().firstLease();
        return lease ? microsecondsOf(lease->until) : 0;
    });
}

// Returns the end of a lease on the wall clock.
uint64_t EnvironmentObject::microsecondsOf(core::BootTime leaseEnd) const {
    const core::Clock& clock = context_.runtime.clock;
    return core::toMicroseconds(
        core::wallEnd(core::Lease{{}, leaseEnd}, clock.bootNow(), clock.wallNow()));
}

bool EnvironmentObject::Lingering() {
    return readProperty([this] { return seen().isLingering(); });
}

std::string EnvironmentObject::Parent() {
    return readProperty([this] { return seen().parent.value_or(""); });
}

std::string EnvironmentObject::Job() {
    return readProperty(
        [this] { return seen().job ? std::to_string(seen().job->id) : std::string(); });
}

} // namespace genv::dbus
