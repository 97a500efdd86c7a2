// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dbus/publishing/publisher.hpp"

#include "dbus/calls/paths.hpp"
#include "dbus/contract/names.hpp"
#include "dbus/properties.hpp"

#include <utility>
#include <variant>

namespace genv::dbus {

namespace {

std::set<std::string> propertiesOf(core::EnvironmentField field) {
    switch (field) {
    case core::EnvironmentField::Name:
        return {"Name"};
    case core::EnvironmentField::Gpus:
        return {"Gpus"};
    case core::EnvironmentField::GpuMemory:
        return {"GpuMemory"};
    case core::EnvironmentField::OverSubscribable:
        return {"OverSubscribable"};
    case core::EnvironmentField::Preemptible:
        return {"Preemptible"};
    case core::EnvironmentField::Processes:
        return {"Processes"};
    case core::EnvironmentField::JupyterKernels:
        return {"Kernels"};
    case core::EnvironmentField::Attached:
        return {"Attached"};
    case core::EnvironmentField::Expires:
        return {"Expires"};
    case core::EnvironmentField::Lingering:
        return {"Lingering"};
    case core::EnvironmentField::Parking:
        return {"State",       "Processes",    "ParkedDevices", "ParkedMemory",
                "ParkedSince", "ParkedReason", "TakenBy"};
    case core::EnvironmentField::ParkingProgress:
        return {"ParkingProgress"};
    case core::EnvironmentField::ParkingProblem:
        return {"ParkingProblem"};
    case core::EnvironmentField::Devices:
        break;
    }
    return {"Devices"};
}

template <typename Object>
void emitChanged(Object& object, const std::set<std::string>& names) {
    object.emitChanged({names.begin(), names.end()});
}

} // namespace

Publisher::Publisher(sdbus::IConnection& connection, const BusContext& context,
                     ManagerObject& manager)
    : connection_(connection), context_(context), manager_(manager),
      environments_(connection, context, [this] { schedule(); }),
      environmentsOnDemand_(
          connection, contract::environmentPathPrefix,
          [this](const std::string& path) { return environments_.registerAt(path); },
          [this] { return environmentPaths(); }),
      managedObjects_(connection, [this](ManagedObjectsWriter& writer) { writeAll(writer); }) {
    for (const auto& [index, device] : context_.sharing.ledger.devices().byIndex())
        addDevice(index);
}

std::vector<std::string> Publisher::environmentPaths() const {
    std::vector<std::string> paths;
    for (const auto& [sequence, environment] : context_.sharing.ledger.environments())
        paths.push_back(environmentPath(environment.id));
    return paths;
}

void Publisher::writeAll(ManagedObjectsWriter& writer) const {
    for (const auto& [index, device] : devices_)
        device->write(writer);
    for (const auto& [sequence, environment] : context_.sharing.ledger.environments()) {
        EnvironmentView view(context_, environment);
        writer.write<EnvironmentProperties>(environmentPath(environment.id),
                                            dev::genv::Environment_adaptor::INTERFACE_NAME, view);
    }
}

void Publisher::onEvent(const core::Event& event) {
    std::visit([this](const auto& specific) { on(specific); }, event);
}

void Publisher::driverChanged() {
    managerProperties_.insert("DriverVersion");
    schedule();
}

void Publisher::policyChanged() {
    manager_.forgetPolicy();
    managerProperties_.insert({"LimitedUsers", "Policy"});
    schedule();
}

void Publisher::on(const core::IsolationChanged& /*event*/) {
    managerProperties_.insert("Isolation");
    schedule();
}

void Publisher::addDevice(core::DeviceIndex index) {
    devices_[index] = std::make_unique<DeviceObject>(
        connection_, context_.sharing.ledger, context_.isolating.refusals, context_.calls, index);
}

void Publisher::on(const core::EnvironmentAdded& event) {
    // An environment that ended in this iteration may be created again with the same id. Its old
    // object must leave the path first. None of the old object's handlers can be running, since an
    // environment is added from a handler of the manager.
    flush();
    managerProperties_.insert("EnvironmentCount");
    later([this, id = event.environment] {
        if (EnvironmentObject* object = environments_.find(id); object != nullptr)
            object->emitAdded();
        manager_.emitEnvironmentAdded(id, environmentPath(id));
    });
}

void Publisher::on(const core::EnvironmentRemoved& event) {
    environmentProperties_.erase(event.environment);
    managerProperties_.insert("EnvironmentCount");
    // The object stays on its path with its last values until the end of this iteration.
    const std::shared_ptr<EnvironmentObject> object = environments_.retire(*event.former);
    retired_.push_back(object);
    later([this, object, id = event.environment] {
        object->emitRemoved();
        manager_.emitEnvironmentRemoved(id, environmentPath(id));
    });
}

void Publisher::on(const core::EnvironmentChanged& event) {
    environmentProperties_[event.environment].merge(propertiesOf(event.field));
    schedule();
}

void Publisher::on(const core::Attached& event) {
    later([this, id = event.environment, index = event.attachment.device.index] {
        manager_.emitAttached(id, index);
    });
}

void Publisher::on(const core::Detached& event) {
    later([this, id = event.environment, index = event.attachment.device.index,
           reason = event.cause.reason] { manager_.emitDetached(id, index, reason.text()); });
}

void Publisher::on(const core::EnvironmentParked& event) {
    later([this, id = event.environment, reason = event.reason] {
        manager_.emitEnvironmentParked(id, environmentPath(id), reason);
    });
}

void Publisher::on(const core::EnvironmentResumed& event) {
    later([this, id = event.environment] {
        manager_.emitEnvironmentResumed(id, environmentPath(id));
    });
}

void Publisher::on(const core::DeviceAdded& event) {
    flush(); // as for environments: indices can move within one iteration
    addDevice(event.index);
    managerProperties_.insert("DeviceCount");
    later([this, index = event.index] {
        if (const auto object = devices_.find(index); object != devices_.end())
            object->second->emitAdded();
    });
}

void Publisher::on(const core::DeviceRemoved& event) {
    auto node = devices_.extract(event.index);
    if (node.empty())
        return;
    deviceProperties_.erase(event.index);
    managerProperties_.insert("DeviceCount");
    const std::shared_ptr<DeviceObject> object = std::move(node.mapped());
    retired_.push_back(object);
    later([object] { object->emitRemoved(); });
}

void Publisher::on(const core::DeviceChanged& event) {
    std::set<std::string>& names = deviceProperties_[event.index];
    switch (event.field) {
    case core::DeviceField::Model:
        names.insert("Model");
        break;
    case core::DeviceField::TotalMemory:
        names.insert({"TotalMemory", "AvailableMemory"});
        break;
    case core::DeviceField::Attachments:
        names.insert({"Attachments", "AvailableMemory", "Free"});
        break;
    case core::DeviceField::LockedBy:
        names.insert("LockedBy");
        break;
    case core::DeviceField::Health:
        names.insert({"Health", "Free"});
        break;
    case core::DeviceField::PciAddress:
        names.insert("PCIAddress");
        break;
    case core::DeviceField::ReservedFor:
        names.insert({"ReservedFor", "Free"});
        break;
    case core::DeviceField::OutsideUse:
        names.insert({"UnaccountedMemory", "AvailableMemory", "Free"});
        break;
    }
    schedule();
}

void Publisher::on(const core::ProcessTerminated& event) {
    later(
        [this, pid = event.pid, id = event.environment.value_or(""), reason = event.cause.reason] {
            manager_.emitProcessTerminated(pid, id, reason.text());
        });
}

void Publisher::on(const core::QueueChanged& /*event*/) {
    queueChanged_ = true;
    schedule();
}

void Publisher::later(std::function<void()> signal) {
    signals_.push_back(std::move(signal));
    schedule();
}

void Publisher::schedule() {
    if (!std::exchange(scheduled_, true))
        context_.runtime.scheduler.soon([this] {
            scheduled_ = false;
            flush();
            environments_.trim();
        });
}

void Publisher::flush() {
    try {
        for (const auto& signal : std::exchange(signals_, {}))
            signal();
        if (std::exchange(queueChanged_, false))
            manager_.emitQueueChanged();
        if (const auto names = std::exchange(managerProperties_, {}); !names.empty())
            emitChanged(manager_, names);
        for (const auto& [id, names] : std::exchange(environmentProperties_, {})) {
            if (EnvironmentObject* object = environments_.find(id); object != nullptr)
                emitChanged(*object, names);
        }
        for (const auto& [index, names] : std::exchange(deviceProperties_, {})) {
            if (const auto object = devices_.find(index); object != devices_.end())
                emitChanged(*object->second, names);
        }
    } catch (const sdbus::Error& error) {
        // The bus is gone; the loop ends the service on its next read.
        context_.runtime.log.error("a change could not be told on the bus: {}",
                                   core::escaped(error.getName()));
    }
    retired_.clear();
}

} // namespace genv::dbus
