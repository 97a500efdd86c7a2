// SPDX-License-Identifier: LGPL-2.1-or-later
// The generated proxies, used by this client for their methods only. A match rule costs a round
// trip, so signals are subscribed to one by one where they are needed. None of these proxies is
// registered for signals.
#pragma once

#include "client/libgenv/properties.hpp"
#include "dbus/contract/device_proxy.hpp"
#include "dbus/contract/environment_proxy.hpp"
#include "dbus/contract/manager_proxy.hpp"
#include "genv/machine.hpp"

namespace genv::client {

class ManagerProxy final : public ::dev::genv::Manager_proxy {
  public:
    explicit ManagerProxy(sdbus::IProxy& proxy) : Manager_proxy(proxy) {}
    ManagerProxy(const ManagerProxy&) = delete;
    ManagerProxy& operator=(const ManagerProxy&) = delete;
    virtual ~ManagerProxy() = default;

  private:
    void onEnvironmentAdded(const std::string& /*id*/,
                            const sdbus::ObjectPath& /*environment*/) override {}
    void onEnvironmentRemoved(const std::string& /*id*/,
                              const sdbus::ObjectPath& /*environment*/) override {}
    void onEnvironmentParked(const std::string& /*id*/, const sdbus::ObjectPath& /*environment*/,
                             const std::string& /*reason*/) override {}
    void onEnvironmentResumed(const std::string& /*id*/,
                              const sdbus::ObjectPath& /*environment*/) override {}
    void onAttached(const std::string& /*environment*/, const std::uint32_t& /*device*/) override {}
    void onDetached(const std::string& /*environment*/, const std::uint32_t& /*device*/,
                    const std::string& /*reason*/) override {}
    void onProcessTerminated(const std::uint32_t& /*pid*/, const std::string& /*environment*/,
                             const std::string& /*reason*/) override {}
    void
    onEnforced(const std::vector<sdbus::Struct<std::string, std::map<std::string, sdbus::Variant>>>&
               /*actions*/) override {}
    void onQueueChanged() override {}
    void onNotice(const std::uint32_t& /*uid*/, const std::string& /*kind*/,
                  const std::string& /*environment*/,
                  const std::map<std::string, sdbus::Variant>& /*details*/) override {}
};

class EnvironmentProxy final : public ::dev::genv::Environment_proxy {
  public:
    explicit EnvironmentProxy(sdbus::IProxy& proxy) : Environment_proxy(proxy) {}
};

class DeviceProxy final : public ::dev::genv::Device_proxy {
  public:
    explicit DeviceProxy(sdbus::IProxy& proxy) : Device_proxy(proxy) {}
};

/// Returns all properties of one interface of an object.
Properties allProperties(sdbus::IProxy& proxy, const char* interface,
                         StartsService starts = StartsService::Yes);

} // namespace genv::client
