// SPDX-License-Identifier: LGPL-2.1-or-later
// dev.genv.Environment on the bus: a view of one environment in the ledger, identified by its id.
// EnvironmentObjects creates and destroys it, but never from within one of its own handlers.
#pragma once

#include "dbus/adaptors.hpp"
#include "dbus/calls/bus_context.hpp"
#include "dbus/environment/environment_view.hpp"

#include <sdbus-c++/sdbus-c++.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace genv::dbus {

class EnvironmentObject
    : public sdbus::AdaptorInterfaces<EnvironmentViewAdaptor, sdbus::ManagedObject_adaptor,
                                      sdbus::Properties_adaptor> {
  public:
    /// Creates the object of an environment, which must outlive it or be replaced by retire().
    EnvironmentObject(sdbus::IConnection& connection, const BusContext& context,
                      const core::EnvironmentRecord& environment);
    virtual ~EnvironmentObject();
    EnvironmentObject(const EnvironmentObject&) = delete;
    EnvironmentObject& operator=(const EnvironmentObject&) = delete;

    /// Handles the end of the environment. Properties have the values of `former` until the object
    /// is removed.
    void retire(const core::EnvironmentRecord& former);

    /// Registers the object with sd-bus, unless it is already registered.
    void ensureRegistered();

    /// Emit the signals that the object was added, that it is removed, or that these properties
    /// changed.
    void emitAdded();
    void emitRemoved();
    void emitChanged(const std::vector<std::string>& properties);

  private:
    void Attach(sdbus::Result<std::vector<uint32_t>>&& result,
                std::map<std::string, sdbus::Variant> options) override;
    void Detach(sdbus::Result<std::vector<uint32_t>>&& result,
                std::vector<uint32_t> indices) override;
    void Configure(sdbus::Result<>&& result, std::map<std::string, sdbus::Variant> set,
                   std::vector<std::string> unset) override;
    void AddProcess(sdbus::Result<>&& result, uint32_t pid) override;
    void RemoveProcess(sdbus::Result<>&& result, uint32_t pid) override;
    void RemoveProcessByPIDFD(sdbus::Result<>&& result, sdbus::UnixFd process) override;
    void AddKernel(sdbus::Result<>&& result, std::string jupyterKernel) override;
    void RemoveKernel(sdbus::Result<>&& result, std::string jupyterKernel) override;
    void Deactivate(sdbus::Result<>&& result) override;
    void Lock(sdbus::Result<sdbus::UnixFd>&& result) override;
    void Park(sdbus::Result<>&& result, std::map<std::string, sdbus::Variant> options) override;
    void Resume(sdbus::Result<std::vector<uint32_t>>&& result,
                std::map<std::string, sdbus::Variant> options) override;

    [[nodiscard]] const core::EnvironmentRecord& self() const {
        return context_.sharing.ledger.get(id_);
    }

    // Returns the environment if users may change it. Throws core::Error(NotSupported) for a Slurm
    // job's environment.
    [[nodiscard]] const core::EnvironmentRecord& manageable() const;

    [[nodiscard]] EnvironmentView view() const override { return {context_, *seen_}; }

    // Asks whether the caller may manage this environment, then acts on it if it still is the same
    // one.
    template <typename... Values, typename Act>
    void manage(const Reply<Values...>& reply, std::vector<core::DeviceIndex> devices, Act act);

    const BusContext& context_;
    const core::EnvironmentId id_;
    std::optional<core::EnvironmentRecord> former_;
    bool isRegistered_ = false;
    const core::EnvironmentRecord*
        seen_; ///< whose properties are shown: in the ledger, later former_
};

} // namespace genv::dbus
