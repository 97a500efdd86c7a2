// SPDX-License-Identifier: LGPL-2.1-or-later
// Publishes the ledger's events on the bus: creates and destroys the objects, and emits signals.
// The changes of one iteration of the loop are published together at its end, after the replies and
// with one PropertiesChanged per object.
//
// An object exists immediately, so that a path in a reply is valid. It is destroyed only at the end
// of the iteration, since one of its handlers may be running.
#pragma once

#include "core/ledger/events.hpp"
#include "dbus/calls/bus_context.hpp"
#include "dbus/calls/managed_objects.hpp"
#include "dbus/calls/objects_on_demand.hpp"
#include "dbus/device/device_object.hpp"
#include "dbus/environment/environment_objects.hpp"
#include "dbus/manager/manager_object.hpp"

#include <sdbus-c++/sdbus-c++.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace genv::dbus {

class Publisher {
  public:
    /// Creates objects for the current contents of the ledger.
    Publisher(sdbus::IConnection& connection, const BusContext& context, ManagerObject& manager);

    /// Handles an event of the ledger.
    void onEvent(const core::Event& event);

    /// Handles a change of the driver version.
    void driverChanged();

    /// Handles a change of the configuration.
    void policyChanged();

  private:
    void on(const core::EnvironmentAdded& event);
    void on(const core::EnvironmentRemoved& event);
    void on(const core::EnvironmentChanged& event);
    void on(const core::EnvironmentParked& event);
    void on(const core::EnvironmentResumed& event);
    void on(const core::Attached& event);
    void on(const core::Detached& event);
    void on(const core::DeviceAdded& event);
    void on(const core::DeviceRemoved& event);
    void on(const core::DeviceChanged& event);
    void on(const core::IsolationChanged& event);
    void on(const core::ProcessTerminated& event);
    void on(const core::QueueChanged& event);
    template <typename NoticeOnly>
    void on(const NoticeOnly& /*event*/) {} // sent to one user, by Notices

    [[nodiscard]] std::vector<std::string> environmentPaths() const;
    void writeAll(ManagedObjectsWriter& writer) const;
    void addDevice(core::DeviceIndex index);
    void later(std::function<void()> signal);
    void schedule();
    void flush();

    sdbus::IConnection& connection_;
    const BusContext& context_;
    ManagerObject& manager_;
    EnvironmentObjects environments_;
    std::map<core::DeviceIndex, std::unique_ptr<DeviceObject>> devices_;

    // The pending signals of this iteration, in order, and the objects to destroy after them.
    bool scheduled_ = false;
    bool queueChanged_ = false;
    std::vector<std::function<void()>> signals_;
    std::set<std::string> managerProperties_;
    std::map<core::EnvironmentId, std::set<std::string>> environmentProperties_;
    std::map<core::DeviceIndex, std::set<std::string>> deviceProperties_;
    std::vector<std::shared_ptr<void>> retired_;

    // Declared last, since they refer to the other members.
    ObjectsOnDemand environmentsOnDemand_;
    ManagedObjects managedObjects_;
};

} // namespace genv::dbus
