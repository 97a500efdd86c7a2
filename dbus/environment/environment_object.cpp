// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dbus/environment/environment_object.hpp"

#include "core/base/error.hpp"
#include "dbus/calls/environment_options.hpp"
#include "dbus/calls/handlers.hpp"
#include "dbus/calls/paths.hpp"
#include "dbus/calls/waiting_calls.hpp"
#include "dbus/environment/adding.hpp"
#include "dbus/environment/attaching.hpp"
#include "dbus/environment/configuring.hpp"
#include "dbus/environment/parking_calls.hpp"
#include "dbus/environment/removing.hpp"

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

void awaitLock(const SharingParts& sharing, const Calls& calls, const Reply<sdbus::UnixFd>& reply,
               const core::EnvironmentRecord& environment) {
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

EnvironmentObject::EnvironmentObject(sdbus::IConnection& connection, const BusContext& context,
                                     const core::EnvironmentRecord& environment)
    : AdaptorInterfaces(connection, environmentPath(environment.id)), context_(context),
      id_(environment.id), seen_(&environment) {}

EnvironmentObject::~EnvironmentObject() {
    unregisterAdaptor();
}

void EnvironmentObject::retire(const core::EnvironmentRecord& former) {
    former_ = former;
    seen_ = &*former_;
}

const core::EnvironmentRecord& EnvironmentObject::manageable() const {
    core::requireNoJob(self());
    return self();
}

void EnvironmentObject::ensureRegistered() {
    if (isRegistered_)
        return;
    registerAdaptor();
    isRegistered_ = true;
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
    const core::EnvironmentRecord& environment = self();
    policy::Target target = core::targetOf(environment);
    target.devices = std::move(devices);
    context_.calls.gate.pass(
        reply, target,
        [&ledger = context_.sharing.ledger, id = id_, sequence = environment.sequence,
         act = std::move(act)] { act(core::sameEnvironment(ledger, id, sequence)); });
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
                    indices](const core::EnvironmentRecord& environment) {
                       const core::EnvironmentId id = environment.id;
                       ledger.detach(id, indices, reply.caller().actor());
                       // A lingering environment ends with its last device.
                       const core::EnvironmentRecord* remaining = ledger.find(id);
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

void EnvironmentObject::AddKernel(sdbus::Result<>&& result, std::string jupyterKernel) {
    handle<environmentInterface, "AddKernel">(
        context_.calls, getObject(), std::move(result),
        [&](const auto& reply) { addJupyterKernel(context_, reply, manageable(), jupyterKernel); });
}

void EnvironmentObject::RemoveKernel(sdbus::Result<>&& result, std::string jupyterKernel) {
    handle<environmentInterface, "RemoveKernel">(
        context_.calls, getObject(), std::move(result), [&](const auto& reply) {
            const auto& jupyterKernels = manageable().jupyterKernels;
            if (std::none_of(
                    jupyterKernels.begin(), jupyterKernels.end(),
                    [&](const core::JupyterKernel& known) { return known.id == jupyterKernel; }))
                core::fail(core::ErrorCode::NoSuchProcess,
                           "kernel \"{}\" is not registered with environment {}",
                           core::escaped(jupyterKernel), id_);
            manage(reply, {},
                   [&sharing = context_.sharing, reply,
                    jupyterKernel](const core::EnvironmentRecord& environment) {
                       const core::EnvironmentId id = environment.id;
                       sharing.ledger.removeJupyterKernel(id, jupyterKernel,
                                                          reply.caller().actor());
                       sendWhenSettled(sharing, reply, id);
                   });
        });
}

void EnvironmentObject::Deactivate(sdbus::Result<>&& result) {
    handle<environmentInterface, "Deactivate">(
        context_.calls, getObject(), std::move(result), [&](const auto& reply) {
            if (reply.caller().uid != 0) // Slurm's epilog runs as root
                core::requireNoJob(self());
            manage(
                reply, self().deviceIndices(),
                [&sharing = context_.sharing, reply](const core::EnvironmentRecord& environment) {
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
                   [&context = context_, reply](const core::EnvironmentRecord& environment) {
                       awaitLock(context.sharing, context.calls, reply, environment);
                   });
        });
}

void EnvironmentObject::Park(sdbus::Result<>&& result,
                             std::map<std::string, sdbus::Variant> options) {
    handle<environmentInterface, "Park">(
        context_.calls, getObject(), std::move(result),
        [&](const auto& reply) { park(context_, reply, manageable(), std::move(options)); });
}

void EnvironmentObject::Resume(sdbus::Result<std::vector<uint32_t>>&& result,
                               std::map<std::string, sdbus::Variant> options) {
    handle<environmentInterface, "Resume">(
        context_.calls, getObject(), std::move(result),
        [&](const auto& reply) { resume(context_, reply, manageable(), std::move(options)); });
}

} // namespace genv::dbus
