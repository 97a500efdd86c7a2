// SPDX-License-Identifier: LGPL-2.1-or-later
// dev.genv.Manager on the bus: lists, look-ups and the calls that are about no object of their own.
// Activate is in dbus/activation.cpp. Lives as long as the service.
#pragma once

#include "dbus/context.hpp"
#include "dbus/enforcement.hpp"
#include "dbus/history.hpp"
#include "dbus/manager_adaptor.hpp"

#include <sdbus-c++/sdbus-c++.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace genv::dbus {

class ManagerObject
    : public sdbus::AdaptorInterfaces<dev::genv::Manager_adaptor, sdbus::ObjectManager_adaptor,
                                      sdbus::Properties_adaptor> {
  public:
    /// `version` is the service's, for the property.
    ManagerObject(sdbus::IConnection& connection, const Context& context, std::string version);
    virtual ~ManagerObject();
    ManagerObject(const ManagerObject&) = delete;
    ManagerObject& operator=(const ManagerObject&) = delete;

    /// Tells that these properties changed.
    void emitChanged(const std::vector<std::string>& properties);

    /// The configuration is another one.
    void forgetPolicy() { policy_.reset(); }

    /// A connection is gone.
    void left(const std::string& busName) {
        enforcement_.left(busName);
        histories_.left(busName);
    }

  private:
    using Variants = std::map<std::string, sdbus::Variant>;
    using ProcessRows = std::vector<sdbus::Struct<uint32_t, uint32_t, std::string,
                                                  std::vector<sdbus::Struct<uint32_t, uint64_t>>>>;

    void Activate(sdbus::Result<std::string, sdbus::ObjectPath>&& result,
                  Variants options) override;
    std::vector<sdbus::Struct<std::string, uint32_t, std::string, std::string, uint64_t,
                              std::vector<uint32_t>, sdbus::ObjectPath>>
    ListEnvironments() override;
    std::vector<sdbus::Struct<uint32_t, std::string, std::string, uint64_t, sdbus::ObjectPath>>
    ListDevices() override;
    std::vector<sdbus::Struct<uint32_t, std::string, std::string, uint64_t, uint64_t>>
    ListAttachments() override;
    void ListProcesses(sdbus::Result<ProcessRows>&& result) override;
    sdbus::ObjectPath GetEnvironment(const std::string& id) override;
    sdbus::ObjectPath GetDevice(const uint32_t& index) override;
    void GetEnvironmentByPID(sdbus::Result<sdbus::ObjectPath>&& result, uint32_t pid) override;
    void Snapshot(sdbus::Result<std::string>&& result) override;
    void GetLimits(sdbus::Result<std::map<std::string, sdbus::Struct<uint64_t, uint64_t>>>&& result,
                   uint32_t uid) override;
    void Enforce(sdbus::Result<Actions>&& result, Variants options) override;
    void Execute(sdbus::Result<Actions>&& result, std::string report) override;
    void TerminateProcess(sdbus::Result<>&& result, uint32_t pid) override;
    std::vector<sdbus::Struct<uint64_t, std::string, uint32_t, uint32_t, uint64_t>>
    ListQueue() override;
    void ListEvents(sdbus::Result<EventRows>&& result, uint64_t since, uint64_t until,
                    Variants filter) override;
    void Reload(sdbus::Result<>&& result) override;

    std::string Version() override { return version_; }
    uint32_t DeviceCount() override;
    uint32_t EnvironmentCount() override;
    Variants Policy() override;
    std::vector<std::string> LimitedUsers() override;
    [[nodiscard]] Variants makePolicy() const;

    // Runs a part of a handler with an observation that is fresh, counted among the caller's list
    // calls.
    template <typename... Values, typename Use>
    void withObservation(const Reply<Values...>& reply, Use use);

    const Context& context_;
    const std::string version_;
    Enforcement enforcement_;
    Histories histories_;
    std::optional<Variants> policy_; ///< once somebody asked; a variant is dear to make
};

} // namespace genv::dbus
