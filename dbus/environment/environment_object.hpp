// SPDX-License-Identifier: LGPL-2.1-or-later
// dev.genv.Environment on the bus: a view of one environment in the ledger, identified by its id.
// EnvironmentObjects creates and destroys it, but never from within one of its own handlers.
#pragma once

#include "dbus/calls/bus_context.hpp"
#include "dbus/environment/environment_view.hpp"
#include "dbus/environment_adaptor.hpp"

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

    std::string Id() override { return view().Id(); }
    uint32_t Uid() override { return view().Uid(); }
    std::string User() override { return view().User(); }
    std::string Name() override { return view().Name(); }
    uint64_t Created() override { return view().Created(); }
    uint32_t Gpus() override { return view().Gpus(); }
    uint64_t GpuMemory() override { return view().GpuMemory(); }
    bool OverSubscribable() override { return view().OverSubscribable(); }
    std::string Preemptible() override { return view().Preemptible(); }
    std::vector<uint32_t> Processes() override { return view().Processes(); }
    std::vector<std::string> Kernels() override { return view().Kernels(); }
    std::vector<uint32_t> Devices() override { return view().Devices(); }
    std::vector<sdbus::Struct<uint32_t, uint64_t>> Attached() override { return view().Attached(); }
    uint64_t Expires() override { return view().Expires(); }
    bool Lingering() override { return view().Lingering(); }
    std::string Job() override { return view().Job(); }
    std::string Parent() override { return view().Parent(); }
    std::string State() override { return view().State(); }
    std::vector<sdbus::Struct<uint32_t, uint64_t>> ParkedDevices() override {
        return view().ParkedDevices();
    }
    uint64_t ParkedMemory() override { return view().ParkedMemory(); }
    uint64_t ParkedSince() override { return view().ParkedSince(); }
    std::string ParkedReason() override { return view().ParkedReason(); }
    std::string TakenBy() override { return view().TakenBy(); }
    sdbus::Struct<uint64_t, uint64_t> ParkingProgress() override {
        return view().ParkingProgress();
    }
    std::string ParkingProblem() override { return view().ParkingProblem(); }

    [[nodiscard]] const core::EnvironmentRecord& self() const {
        return context_.sharing.ledger.get(id_);
    }

    // Returns the environment if users may change it. Throws core::Error(NotSupported) for a Slurm
    // job's environment.
    [[nodiscard]] const core::EnvironmentRecord& manageable() const;

    [[nodiscard]] EnvironmentView view() const { return {context_, *seen_}; }

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
