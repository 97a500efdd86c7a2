// SPDX-License-Identifier: LGPL-2.1-or-later
// dev.genv.Manager on the bus: lists, look-ups and calls that do not belong to another object. A
// call with several steps has a file of its own: dbus/manager/activation.cpp,
// dbus/manager/environment_search.cpp, dbus/manager/termination.cpp, dbus/manager/enforcement.cpp
// and dbus/manager/history_calls.cpp. The object exists as long as the service.
#pragma once

#include "dbus/calls/bus_context.hpp"
#include "dbus/calls/call_options.hpp"
#include "dbus/manager/enforcement.hpp"
#include "dbus/manager/history_calls.hpp"
#include "dbus/manager/isolation_methods.hpp"
#include "dbus/manager/rows.hpp"
#include "dbus/manager/use.hpp"
#include "dbus/manager_adaptor.hpp"

#include <sdbus-c++/sdbus-c++.h>

#include <optional>
#include <string>
#include <vector>

namespace genv::dbus {

class ManagerObject
    : public sdbus::AdaptorInterfaces<dev::genv::Manager_adaptor, sdbus::ObjectManager_adaptor,
                                      sdbus::Properties_adaptor> {
  public:
    /// `version` is the version of the service, for the property.
    ManagerObject(sdbus::IConnection& connection, const BusContext& context, std::string version);
    virtual ~ManagerObject();
    ManagerObject(const ManagerObject&) = delete;
    ManagerObject& operator=(const ManagerObject&) = delete;

    /// Emits the signal that these properties changed.
    void emitChanged(const std::vector<std::string>& properties);

    /// Handles a change of the configuration.
    void forgetPolicy() { policy_.reset(); }

    /// Handles a closed connection.
    void onDisconnected(const std::string& busName) {
        enforcement_.onDisconnected(busName);
        histories_.onDisconnected(busName);
    }

  private:
    void Activate(sdbus::Result<std::string, sdbus::ObjectPath>&& result,
                  VariantMap options) override;
    EnvironmentRows ListEnvironments() override;
    DeviceRows ListDevices() override;
    AttachmentRows ListAttachments() override;
    void ListProcesses(sdbus::Result<ProcessRows>&& result) override;
    void DescribeProcesses(sdbus::Result<std::vector<VariantMap>>&& result) override;
    ReadingRows ListReadings(const uint64_t& since) override;
    sdbus::ObjectPath GetEnvironment(const std::string& id) override;
    sdbus::ObjectPath GetDevice(const uint32_t& index) override;
    void GetEnvironmentByPID(sdbus::Result<sdbus::ObjectPath>&& result, uint32_t pid) override;
    void Snapshot(sdbus::Result<std::string>&& result) override;
    void GetLimits(sdbus::Result<LimitRows>&& result, uint32_t uid) override;
    void Enforce(sdbus::Result<Actions>&& result, VariantMap options) override;
    void Execute(sdbus::Result<Actions>&& result, std::string report) override;
    void TerminateProcess(sdbus::Result<>&& result, uint32_t pid) override;
    QueueRows ListQueue() override;
    std::vector<VariantMap> DescribeQueue() override;
    void ListUse(sdbus::Result<UseRows>&& result, VariantMap filter) override;
    void CancelWait(sdbus::Result<>&& result, uint64_t ticket) override;
    void ListEvents(sdbus::Result<std::vector<VariantMap>>&& result, uint64_t since, uint64_t until,
                    VariantMap filter) override;
    VariantMap DescribeIsolation() override;
    void ListRefusedOpens(sdbus::Result<RefusedOpenRows>&& result, VariantMap filter) override;
    void SuspendIsolation(sdbus::Result<>&& result, bool suspended) override;
    void Reload(sdbus::Result<>&& result) override;

    std::string Version() override { return version_; }
    std::string DriverVersion() override;
    uint32_t DeviceCount() override;
    uint32_t EnvironmentCount() override;
    VariantMap Policy() override;
    std::string Isolation() override;
    std::vector<std::string> LimitedUsers() override;

    /// Returns the result of the method being called, to be written instead of the generated one.
    template <typename Rows>
    [[nodiscard]] WrittenResult<Rows> written() const {
        return WrittenResult<Rows>(raw::Message::beingProcessed(getObject()));
    }
    void listLimits(const Reply<LimitRows>& reply, core::Uid uid);

    const BusContext& context_;
    const std::string version_;
    Enforcement enforcement_;
    Histories histories_;
    std::optional<VariantMap>
        policy_; ///< cached after the first read, since variants are expensive to create
};

} // namespace genv::dbus
