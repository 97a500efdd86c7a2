// SPDX-License-Identifier: LGPL-2.1-or-later
// dev.genv.Environment on the bus: a view of one environment in the ledger, identified by its id.
// The Publisher creates and destroys it, but never from within one of its own handlers.
#pragma once

#include "dbus/context.hpp"
#include "dbus/environment_adaptor.hpp"
#include "dbus/managed_objects.hpp"
#include "dbus/properties.hpp"

#include <sdbus-c++/sdbus-c++.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace genv::dbus {

class EnvironmentObject
    : public sdbus::AdaptorInterfaces<dev::genv::Environment_adaptor, sdbus::ManagedObject_adaptor,
                                      sdbus::Properties_adaptor> {
  public:
    /// Creates the object of an environment in the ledger. The creator must call retire() when the
    /// environment ends.
    EnvironmentObject(sdbus::IConnection& connection, const Context& context,
                      core::EnvironmentId id);
    virtual ~EnvironmentObject();
    EnvironmentObject(const EnvironmentObject&) = delete;
    EnvironmentObject& operator=(const EnvironmentObject&) = delete;

    /// Handles the end of the environment. Properties have the values of `former` until the object
    /// is removed.
    void retire(const core::Environment& former);

    /// Registers the object with sd-bus, unless it is already registered.
    void ensureRegistered();

    /// Writes the object with all its properties.
    void write(ManagedObjectsWriter& writer);

    /// Emit the signals that the object was added, that it is removed, or that these properties
    /// changed.
    void emitAdded();
    void emitRemoved();
    void emitChanged(const std::vector<std::string>& properties);

  private:
    friend EnvironmentProperties;
    friend ManagedObjectsWriter;

    void Attach(sdbus::Result<std::vector<uint32_t>>&& result,
                std::map<std::string, sdbus::Variant> options) override;
    void Detach(sdbus::Result<std::vector<uint32_t>>&& result,
                std::vector<uint32_t> indices) override;
    void Configure(sdbus::Result<>&& result, std::map<std::string, sdbus::Variant> set,
                   std::vector<std::string> unset) override;
    void AddProcess(sdbus::Result<>&& result, uint32_t pid) override;
    void RemoveProcess(sdbus::Result<>&& result, uint32_t pid) override;
    void RemoveProcessByPIDFD(sdbus::Result<>&& result, sdbus::UnixFd process) override;
    void AddKernel(sdbus::Result<>&& result, std::string kernel) override;
    void RemoveKernel(sdbus::Result<>&& result, std::string kernel) override;
    void Deactivate(sdbus::Result<>&& result) override;
    void Lock(sdbus::Result<sdbus::UnixFd>&& result) override;

    std::string Id() override { return id_; }
    uint32_t Uid() override;
    std::string User() override;
    std::string Name() override;
    uint64_t Created() override;
    uint32_t Gpus() override;
    uint64_t GpuMemory() override;
    bool OverSubscribable() override;
    std::vector<uint32_t> Processes() override;
    std::vector<std::string> Kernels() override;
    std::vector<uint32_t> Devices() override;
    std::vector<sdbus::Struct<uint32_t, uint64_t>> Attached() override;
    uint64_t Expires() override;
    bool Lingering() override;
    std::string Job() override;
    std::string Parent() override;

    [[nodiscard]] const core::Environment& self() const { return context_.sharing.ledger.get(id_); }

    // Returns the environment if users may change it. Throws core::Error(NotSupported) for a Slurm
    // job's environment.
    [[nodiscard]] const core::Environment& manageable() const;

    [[nodiscard]] uint64_t microsecondsOf(core::BootTime leaseEnd) const;

    // Returns the environment that the properties show.
    [[nodiscard]] const core::Environment& seen() const { return *seen_; }

    // Asks whether the caller may manage this environment, then acts on it if it still is the same
    // one.
    template <typename... Values, typename Act>
    void manage(const Reply<Values...>& reply, std::vector<core::DeviceIndex> devices, Act act);

    const Context& context_;
    const core::EnvironmentId id_;
    std::optional<core::Environment> former_;
    bool isRegistered_ = false;
    const core::Environment* seen_; ///< points into the ledger, later to former_
};

} // namespace genv::dbus
