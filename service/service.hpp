// SPDX-License-Identifier: LGPL-2.1-or-later
// The service, wired together: the core, its adapters, the bus objects, and the timers and
// subscriptions that drive them. It makes no decisions itself.
//
// The bus name is requested last, after the state is recovered and the first observation of the
// GPUs has finished or timed out. A client that activates the service over the bus thus finds it
// complete.
#pragma once

#include "core/settings/settings.hpp"
#include "service/bus_calls.hpp"
#include "service/bus_objects.hpp"
#include "service/configured_names.hpp"
#include "service/dynamic_users.hpp"
#include "service/identity_updates.hpp"
#include "service/isolation/kernel_gates.hpp"
#include "service/machine_adapters.hpp"
#include "service/policing.hpp"
#include "service/reporting.hpp"
#include "service/sharing.hpp"
#include "service/slurm/slurm_device_file.hpp"
#include "service/system_manager.hpp"
#include "service/write_retries.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

namespace genv::service {

/// The directories and sockets of the service.
struct Directories {
    std::filesystem::path runtime;       ///< parent of the state folder
    std::filesystem::path configuration; ///< genvd.conf and its drop-ins
    std::filesystem::path slurmSocket{}; ///< the socket of genv-slurm
    std::filesystem::path parkSocket{};  ///< the socket of genv-park
    std::filesystem::path state{};       ///< what outlives the boot
};

class Service {
  public:
    /// Connects to the system bus and recovers the state. Throws if either fails.
    Service(GlibLoop& loop, Logger& log, const Directories& directories, core::Settings settings,
            std::unique_ptr<core::Gpus> gpus, ProcProgram procProgram = {});
    ~Service();
    Service(const Service&) = delete;
    Service& operator=(const Service&) = delete;

    /// Reads the configuration again on behalf of `actor`, and calls `done` once it is in force,
    /// after the users that it names have been looked up. Throws core::Error(InvalidArgs) if it is
    /// invalid; the old configuration then stays in force.
    void reload(const core::Actor& actor, std::function<void()> done);
    /// Ends the loop in an orderly way.
    void stop();

  private:
    Service(GlibLoop& loop, core::Log& log, std::filesystem::path configuration,
            core::Settings settings);

    void recover();
    void subscribe();
    dbus::BusContext context();
    void lookAtGpus();
    void lookAtIdentities();
    void onObservation(const core::Observation* observation, const std::string& failure);
    void becomeReadyIfComplete();
    void becomeReady();
    void take(core::Settings next, const core::Actor& actor);
    void take(const core::ResolvedNames& names);
    core::Settings readAgain(const core::Actor& actor);
    void warnOfGap();
    /// Ends the service with this reason.
    void fail(const std::string& why);
    void shutDown();

    GlibLoop& loop_;
    core::Log& log_;
    const std::filesystem::path configuration_;
    core::Settings settings_;
    SystemManager systemManager_;

    KernelGates gates_; ///< called on the loop: it never blocks

    // Each part uses parts before it. shutDown() destroys them and explains the order.
    std::unique_ptr<BusCalls> calls_;
    std::unique_ptr<MachineAdapters> machine_;
    std::unique_ptr<journal::NamedLines> lines_;
    std::unique_ptr<Sharing> sharing_;
    std::unique_ptr<Policing> policing_;
    std::unique_ptr<SlurmDeviceFile> slurmDevices_;
    std::unique_ptr<Reporting> reporting_;
    std::unique_ptr<BusObjects> objects_;
    std::unique_ptr<WriteRetries> retries_;
    std::unique_ptr<IdentityUpdates> identities_;
    std::unique_ptr<DynamicUsers> dynamicUsers_;
    std::unique_ptr<ConfiguredNames> names_;

    std::unique_ptr<core::Scheduled> looking_;
    std::unique_ptr<core::Scheduled> startTimer_;
    std::string driverVersion_; ///< as last announced
    std::string driverTrouble_; ///< the last logged problem with the driver
    bool hasObserved_ = false;  ///< the driver has answered, or failed
    bool hasNames_ = false;     ///< the user database has answered about the names in the settings
    bool ready_ = false;
};

} // namespace genv::service
