// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dbus/device/device_object.hpp"

#include "core/base/error.hpp"
#include "dbus/calls/handlers.hpp"
#include "dbus/calls/paths.hpp"

#include <optional>

namespace genv::dbus {

namespace {

constexpr Literal deviceInterface{"dev.genv.Device"};

} // namespace

DeviceObject::DeviceObject(sdbus::IConnection& connection, core::Ledger& ledger,
                           const core::RefusalWatch& refusals, const Calls& calls,
                           core::DeviceIndex index)
    : AdaptorInterfaces(connection, devicePath(index)), ledger_(ledger), refusals_(refusals),
      calls_(calls), index_(index) {
    registerAdaptor();
}

DeviceObject::~DeviceObject() {
    unregisterAdaptor();
}

void DeviceObject::write(ManagedObjectsWriter& writer) {
    writer.write<DeviceProperties>(getObject().getObjectPath(), Device_adaptor::INTERFACE_NAME,
                                   *this);
}

void DeviceObject::emitAdded() {
    emitInterfacesAddedSignal({compat::InterfaceName{Device_adaptor::INTERFACE_NAME}});
}

void DeviceObject::emitRemoved() {
    emitInterfacesRemovedSignal({compat::InterfaceName{Device_adaptor::INTERFACE_NAME}});
}

void DeviceObject::emitChanged(const std::vector<std::string>& properties) {
    emitPropertiesChangedSignal(compat::InterfaceName{Device_adaptor::INTERFACE_NAME},
                                compat::memberNames(properties));
}

void DeviceObject::Detach(sdbus::Result<>&& result, std::string id) {
    handle<deviceInterface, "Detach">(
        calls_, getObject(), std::move(result), [&](const auto& reply) {
            policy::Target target;
            target.devices = {index_};
            std::optional<core::EnvironmentId> wanted;
            std::uint64_t sequence = 0;
            if (!id.empty()) {
                const core::EnvironmentRecord& environment = ledger_.get(id);
                core::requireNoJob(environment);
                core::requireAttached(environment, {index_});
                wanted = environment.id;
                sequence = environment.sequence;
                target.environment = environment.id;
                target.owner = environment.uid;
                target.ownerName = environment.user;
            } else {
                for (const core::Holder& holder : self().holders)
                    core::requireNoJob(ledger_.get(holder.environment));
            }
            // When the reply arrives, the index may belong to another device, and the id to another
            // environment.
            calls_.gate.pass(reply, target,
                             [&ledger = ledger_, reply, index = index_, wanted, sequence,
                              uuid = self().facts.uuid] {
                                 if (ledger.device(index).facts.uuid != uuid ||
                                     (wanted && ledger.get(*wanted).sequence != sequence))
                                     core::fail(core::ErrorCode::NoSuchDevice,
                                                "device {} or its environment changed while "
                                                "authorization was given; try again",
                                                index);
                                 ledger.detachDevice(index, wanted, reply.caller().actor());
                                 reply.send();
                             });
        });
}

std::vector<sdbus::Struct<std::string, uint64_t, uint64_t>> DeviceObject::Attachments() {
    return readProperty([this] {
        std::vector<sdbus::Struct<std::string, uint64_t, uint64_t>> rows;
        for (const core::Holder& holder : self().holders)
            rows.emplace_back(holder.environment,
                              holder.attachment.share.value_or(core::Bytes{0}).count,
                              core::toMicroseconds(holder.attachment.since));
        return rows;
    });
}

std::string DeviceObject::LockedBy() {
    return readProperty([this]() -> std::string {
        const core::TableDevice& device = self();
        std::string locker;
        device.forEachHolder([&](const core::Holder& holder) {
            if (ledger_.get(holder.environment).hasLocked(device.facts.uuid))
                locker = holder.environment;
        });
        return locker;
    });
}

uint64_t DeviceObject::SampledAt() {
    return readProperty([this] {
        const auto sampled = self().sampledAt;
        return sampled ? core::toMicroseconds(*sampled) : 0;
    });
}

} // namespace genv::dbus
