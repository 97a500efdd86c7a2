// SPDX-License-Identifier: LGPL-2.1-or-later
// Tells the bus what the ledger tells: makes and destroys the objects, and emits signals. What
// happens in one turn of the loop is told together at its end, after the replies and with one
// PropertiesChanged per object.
//
// An object is there at once, so that a path in a reply works, but it is destroyed only at the end
// of the turn: it may be the one whose handler is running. An environment's is registered with
// sd-bus when it is first called or told of.
#pragma once

#include "core/events.hpp"
#include "dbus/context.hpp"
#include "dbus/device_object.hpp"
#include "dbus/environment_object.hpp"
#include "dbus/managed_objects.hpp"
#include "dbus/manager_object.hpp"
#include "dbus/objects_on_demand.hpp"

#include <sdbus-c++/sdbus-c++.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace genv::dbus {

class Publisher {
  public:
    /// Makes an object for whatever the ledger has already.
    Publisher(sdbus::IConnection& connection, const Context& context, ManagerObject& manager);

    /// Hears an event of the ledger.
    void onEvent(const core::Event& event);

    /// There is another driver.
    void driverChanged();

    /// The configuration changed.
    void policyChanged();

  private:
    void on(const core::EnvironmentAdded& event);
    void on(const core::EnvironmentRemoved& event);
    void on(const core::EnvironmentChanged& event);
    void on(const core::Attached& event);
    void on(const core::Detached& event);
    void on(const core::DeviceAdded& event);
    void on(const core::DeviceRemoved& event);
    void on(const core::DeviceChanged& event);
    void on(const core::IsolationChanged& event);
    void on(const core::ProcessTerminated& event);
    void on(const core::QueueChanged& event);
    template <typename NoticeOnly>
    void on(const NoticeOnly& /*event*/) {} // told to one person

    bool registerEnvironment(const std::string& path);
    [[nodiscard]] std::vector<std::string> environmentPaths() const;
    void writeAll(ManagedObjectsWriter& writer) const;
    void addEnvironment(const core::EnvironmentId& id);
    void addDevice(core::DeviceIndex index);
    void later(std::function<void()> signal);
    void schedule();
    void flush();

    sdbus::IConnection& connection_;
    const Context& context_;
    ManagerObject& manager_;
    std::unordered_map<core::EnvironmentId, std::unique_ptr<EnvironmentObject>> environments_;
    std::map<core::DeviceIndex, std::unique_ptr<DeviceObject>> devices_;

    // What this turn has to tell, in order; and the objects that go when it is told.
    bool scheduled_ = false;
    bool queueChanged_ = false;
    std::vector<std::function<void()>> signals_;
    std::set<std::string> managerProperties_;
    std::map<core::EnvironmentId, std::set<std::string>> environmentProperties_;
    std::map<core::DeviceIndex, std::set<std::string>> deviceProperties_;
    std::vector<std::shared_ptr<void>> retired_;

    // Last, since they show the others.
    ObjectsOnDemand environmentsOnDemand_;
    ManagedObjects managedObjects_;
};

} // namespace genv::dbus
