// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dbus/environment_object.hpp"

#include "core/error.hpp"
#include "core/root_process.hpp"
#include "dbus/claim.hpp"
#include "dbus/environment_options.hpp"
#include "dbus/handlers.hpp"
#include "dbus/paths.hpp"

#include <algorithm>
#include <utility>

namespace genv::dbus {

namespace {

constexpr Literal interface { "dev.genv.Environment" };

policy::Target targetOf(const core::Environment& environment) {
    policy::Target target;
    target.environment = environment.id;
    target.owner = environment.uid;
    target.ownerName = environment.user;
    return target;
}

// The environment that a call was about; one that ended and came again under the same id is
// another.
const core::Environment& same(const core::Ledger& ledger, const core::EnvironmentId& id,
                              std::uint64_t sequence) {
    const core::Environment* environment = ledger.find(id);
    if (environment == nullptr || environment->sequence != sequence)
        core::fail(core::ErrorCode::NoSuchEnvironment, "environment {} ended in the meantime", id);
    return *environment;
}

// Configures an environment within its owner's limits, or over them with consent.
void configure(const Context& context, const Reply<>& reply,
               const core::ConfigurationChange& change, const core::Environment& environment) {
    const auto carryOut = [&context, reply, change, id = environment.id,
                           sequence = environment.sequence] {
        context.ledger.configure(same(context.ledger, id, sequence).id, change, reply.caller().uid);
        reply.send();
    };
    context.users.describe(
        environment.uid, reply.later([&context, reply, change, carryOut,
                                      target = targetOf(environment)](const core::UserInfo& owner) {
            const auto violation =
                core::admitConfiguration(context.settings().limits.of(owner), change);
            if (violation)
                context.gate.passQuota(reply, target, *violation, carryOut);
            else
                carryOut();
        }));
}

} // namespace

EnvironmentObject::EnvironmentObject(sdbus::IConnection& connection, const Context& context,
                                     core::EnvironmentId id)
    : AdaptorInterfaces(connection, environmentPath(id)), context_(context), id_(std::move(id)) {
    registerAdaptor();
}

EnvironmentObject::~EnvironmentObject() {
    unregisterAdaptor();
}

void EnvironmentObject::emitAdded() {
    emitInterfacesAddedSignal({Environment_adaptor::INTERFACE_NAME});
}

void EnvironmentObject::emitRemoved() {
    emitInterfacesRemovedSignal({Environment_adaptor::INTERFACE_NAME});
}

void EnvironmentObject::emitChanged(const std::vector<std::string>& properties) {
    emitPropertiesChangedSignal(Environment_adaptor::INTERFACE_NAME, properties);
}

template <typename... Values, typename Act>
void EnvironmentObject::manage(const Reply<Values...>& reply,
                               std::vector<core::DeviceIndex> devices, Act act) {
    const core::Environment& environment = self();
    policy::Target target = targetOf(environment);
    target.devices = std::move(devices);
    context_.gate.pass(reply, target,
                       [&context = context_, id = id_, sequence = environment.sequence,
                        act = std::move(act)] { act(same(context.ledger, id, sequence)); });
}

void EnvironmentObject::Attach(sdbus::Result<std::vector<uint32_t>>&& result,
                               std::map<std::string, sdbus::Variant> options) {
    handle<interface, "Attach">(context_, getObject(), std::move(result), [&](const auto& reply) {
        const core::Environment& environment = self();
        const core::AttachRequest request = readAttachRequest(std::move(options), environment);
        core::Ledger& ledger = context_.ledger;
        const auto now = [&ledger, id = id_,
                          sequence = environment.sequence]() -> const core::Environment& {
            return same(ledger, id, sequence);
        };
        Claim claim;
        claim.plan = [&ledger, now, request]() -> std::optional<core::Placement> {
            return core::place(request, ledger.devices(), &now());
        };
        claim.target = [now, request](const std::optional<core::Placement>& placement) {
            policy::Target target = targetOf(now());
            claimInto(target, *placement, request.overSubscribe);
            return target;
        };
        claim.stillHolds = [&ledger, now](const core::Placement& placement) {
            return core::stillHolds(placement, ledger.devices(), &now());
        };
        claim.apply = [&ledger, now, reply](const std::optional<core::Placement>& placement,
                                            bool exempt) {
            ledger.attach(now().id, *placement, reply.caller().uid, exempt);
            reply.send(now().deviceIndices());
        };
        context_.users.describe(environment.uid, reply.later([&context = context_, reply, claim,
                                                              now](const core::UserInfo& owner) {
            Claim limited = claim;
            limited.quota = [&context, now,
                             owner](const std::optional<core::Placement>& placement) {
                return core::admitAttachment(context.ledger, now(),
                                             context.settings().limits.of(owner), *placement);
            };
            carryOut(context, reply, limited);
        }));
    });
}

void EnvironmentObject::Detach(sdbus::Result<std::vector<uint32_t>>&& result,
                               std::vector<uint32_t> indices) {
    handle<interface, "Detach">(context_, getObject(), std::move(result), [&](const auto& reply) {
        core::requireAttached(self(), indices);
        const auto devices = indices.empty() ? self().deviceIndices() : indices;
        manage(reply, devices,
               [&ledger = context_.ledger, reply, indices](const core::Environment& environment) {
                   const core::EnvironmentId id = environment.id;
                   ledger.detach(id, indices, reply.caller().uid);
                   reply.send(ledger.get(id).deviceIndices());
               });
    });
}

void EnvironmentObject::Configure(sdbus::Result<>&& result,
                                  std::map<std::string, sdbus::Variant> set,
                                  std::vector<std::string> unset) {
    handle<interface, "Configure">(
        context_, getObject(), std::move(result), [&](const auto& reply) {
            const core::ConfigurationChange change = readConfigurationChange(std::move(set), unset);
            manage(reply, {},
                   [&context = context_, reply, change](const core::Environment& environment) {
                       configure(context, reply, change, environment);
                   });
        });
}

void EnvironmentObject::AddProcess(sdbus::Result<>&& result, uint32_t pid) {
    handle<interface, "AddProcess">(
        context_, getObject(), std::move(result), [&](const auto& reply) {
            const auto pin = context_.processes.pin(pid);
            const core::Uid owner = self().uid;
            static_cast<void>(
                core::adopt(pin, owner, reply.caller().uid)); // refused before anybody is asked
            manage(reply, {},
                   [&ledger = context_.ledger, reply, pin](const core::Environment& environment) {
                       const core::Uid actor = reply.caller().uid;
                       ledger.addProcess(environment.id, core::adopt(pin, environment.uid, actor),
                                         actor);
                       reply.send();
                   });
        });
}

void EnvironmentObject::RemoveProcess(sdbus::Result<>&& result, uint32_t pid) {
    handle<interface, "RemoveProcess">(
        context_, getObject(), std::move(result), [&](const auto& reply) {
            const auto& processes = self().processes;
            if (std::none_of(
                    processes.begin(), processes.end(),
                    [&](const core::RootProcess& process) { return process.identity.pid == pid; }))
                core::fail(core::ErrorCode::NoSuchProcess,
                           "process {} is not registered with environment {}", pid, id_);
            manage(reply, {},
                   [&ledger = context_.ledger, reply, pid](const core::Environment& environment) {
                       ledger.removeProcess(environment.id, pid, reply.caller().uid);
                       reply.send();
                   });
        });
}

void EnvironmentObject::AddKernel(sdbus::Result<>&& result, std::string kernel) {
    handle<interface, "AddKernel">(
        context_, getObject(), std::move(result), [&](const auto& reply) {
            core::requireIdentifier(kernel, "kernel");
            // Found once the caller may add it at all, so that nobody makes the service search for
            // nothing.
            manage(reply, {},
                   [&context = context_, reply, kernel](const core::Environment& environment) {
                       const auto id = environment.id;
                       const auto sequence = environment.sequence;
                       context.kernels.find(
                           environment.uid, kernel,
                           reply.later([&context, reply, kernel, id, sequence](
                                           const std::optional<core::ProcessIdentity>& process) {
                               const core::Environment& now = same(context.ledger, id, sequence);
                               const core::Uid actor = reply.caller().uid;
                               core::Kernel found =
                                   pinKernel(context.processes, kernel, process, now.uid);
                               context.ledger.addKernel(id, std::move(found), actor);
                               reply.send();
                           }));
                   });
        });
}

void EnvironmentObject::RemoveKernel(sdbus::Result<>&& result, std::string kernel) {
    handle<interface, "RemoveKernel">(
        context_, getObject(), std::move(result), [&](const auto& reply) {
            const auto& kernels = self().kernels;
            if (std::none_of(kernels.begin(), kernels.end(),
                             [&](const core::Kernel& known) { return known.id == kernel; }))
                core::fail(core::ErrorCode::NoSuchProcess,
                           "kernel \"{}\" is not registered with environment {}",
                           core::escaped(kernel), id_);
            manage(
                reply, {},
                [&ledger = context_.ledger, reply, kernel](const core::Environment& environment) {
                    ledger.removeKernel(environment.id, kernel, reply.caller().uid);
                    reply.send();
                });
        });
}

void EnvironmentObject::Deactivate(sdbus::Result<>&& result) {
    handle<interface, "Deactivate">(
        context_, getObject(), std::move(result), [&](const auto& reply) {
            manage(reply, self().deviceIndices(),
                   [&ledger = context_.ledger, reply](const core::Environment& environment) {
                       ledger.deactivate(core::EnvironmentId(environment.id), reply.caller().uid);
                       reply.send();
                   });
        });
}

void EnvironmentObject::Lock(sdbus::Result<sdbus::UnixFd>&& result) {
    handle<interface, "Lock">(context_, getObject(), std::move(result), [](const auto&) {
        core::fail(core::ErrorCode::NotSupported,
                   "locks are not supported by this version of the service");
    });
}

uint32_t EnvironmentObject::Uid() {
    return readProperty([this] { return self().uid; });
}

std::string EnvironmentObject::User() {
    return readProperty([this] { return self().user; });
}

std::string EnvironmentObject::Name() {
    return readProperty([this] { return self().configuration.name.value_or(""); });
}

uint64_t EnvironmentObject::Created() {
    return readProperty([this] { return core::toMicroseconds(self().created); });
}

uint32_t EnvironmentObject::Gpus() {
    return readProperty([this] { return self().configuration.gpus.value_or(0); });
}

uint64_t EnvironmentObject::GpuMemory() {
    return readProperty(
        [this] { return self().configuration.gpuMemory.value_or(core::Bytes{0}).count; });
}

std::vector<uint32_t> EnvironmentObject::Processes() {
    return readProperty([this] { return rootPids(self()); });
}

std::vector<std::string> EnvironmentObject::Kernels() {
    return readProperty([this] {
        std::vector<std::string> ids;
        for (const core::Kernel& kernel : self().kernels)
            ids.push_back(kernel.id);
        return ids;
    });
}

std::vector<uint32_t> EnvironmentObject::Devices() {
    return readProperty([this] { return self().deviceIndices(); });
}

} // namespace genv::dbus
