// SPDX-License-Identifier: LGPL-2.1-or-later
// The service, wired together: the core and its adapters, the bus objects, and what sets them
// going. It decides nothing.
//
// The name is requested last, after the state is recovered and the GPUs were looked at once, so
// that whoever activates the service over the bus meets it complete.
#pragma once

#include "core/evictor.hpp"
#include "core/idleness.hpp"
#include "core/kernel_restarts.hpp"
#include "core/leases.hpp"
#include "core/ledger.hpp"
#include "core/lingering.hpp"
#include "core/locks.hpp"
#include "core/memory_watch.hpp"
#include "core/occupancy.hpp"
#include "core/queue.hpp"
#include "core/rules/enforcer.hpp"
#include "core/settings.hpp"
#include "core/terminator.hpp"
#include "dbus/context.hpp"
#include "dbus/intake.hpp"
#include "dbus/manager_object.hpp"
#include "dbus/notices.hpp"
#include "dbus/publisher.hpp"
#include "policy/polkit_authorizer.hpp"
#include "service/gpu/gpu_observer.hpp"
#include "service/journal/event_log.hpp"
#include "service/journal/history.hpp"
#include "service/journal/logger.hpp"
#include "service/journal/record_queue.hpp"
#include "service/journal/refusal_log.hpp"
#include "service/lock_pipes.hpp"
#include "service/loop/bus_source.hpp"
#include "service/loop/glib_loop.hpp"
#include "service/loop/system_clock.hpp"
#include "service/processes/kernel_finder.hpp"
#include "service/processes/process_table.hpp"
#include "service/shell/shell_files.hpp"
#include "service/shell/shell_news.hpp"
#include "service/state/file_store.hpp"
#include "service/system_manager.hpp"
#include "service/user_directory.hpp"

#include <filesystem>
#include <memory>
#include <optional>

namespace genv::service {

/// Where the service finds and keeps things.
struct Directories {
    std::filesystem::path runtime;       ///< the state is below
    std::filesystem::path configuration; ///< genvd.conf and its drop-ins
};

class Service {
  public:
    /// Connects to the system bus and recovers the state. Throws when either fails.
    Service(GlibLoop& loop, Logger& log, Directories directories, core::Settings settings,
            std::unique_ptr<core::Gpus> gpus, ProcProgram procProgram = {});
    ~Service();
    Service(const Service&) = delete;
    Service& operator=(const Service&) = delete;

    /// Reads the configuration again for somebody. Throws core::Error(InvalidArgs), and the old one
    /// stays in force.
    void reload(core::Uid actor);
    /// Ends the loop in good order.
    void stop();

  private:
    dbus::Context makeContext();
    void subscribe();
    void recover();
    void watchClients();
    void lookAtGpus();
    void onObservation(const core::Observation* observation, const std::string& failure);
    void becomeReady();
    core::Settings readAgain();
    void retryWritesLater();
    void verifyProcesses();

    GlibLoop& loop_;
    core::Log& log_;
    const Directories directories_;
    core::Settings settings_;

    SystemClock clock_;
    SystemManager systemManager_;
    FileStore store_;
    const ProcAccess procAccess_;
    ProcessTable processes_;
    core::EventHub events_;
    core::Ledger ledger_;

    // Calls on their way are kept by what answers them, so these outlive all that follows.
    bool isEnding_ = false;
    std::unique_ptr<sdbus::IConnection> connection_;
    dbus::Callers callers_;
    dbus::ListCalls listCalls_;
    dbus::WaitingCalls waitingCalls_;

    GpuObserver observer_;
    core::Lingering lingering_;
    core::Occupancy occupancy_;
    LockPipes lockPipes_;
    core::Queue queue_;
    core::Locks locks_;
    core::Leases leases_;
    UserDirectory users_;
    KernelFinder kernels_;
    core::KernelRestarts kernelRestarts_;
    JournalHistory history_;
    core::Terminator terminator_;
    core::Evictor evictor_;
    core::Idleness idleness_;
    core::MemoryWatch memoryWatch_{events_};
    core::Enforcer enforcer_;
    journal::RecordQueue records_;
    EventLog eventLog_;
    journal::RefusalLog refusals_;
    ShellFiles shellFiles_;
    ShellNews shellNews_;

    policy::PolkitAuthorizer authorizer_;
    dbus::Gate gate_;
    dbus::Context context_;
    std::optional<dbus::ManagerObject> manager_;
    std::optional<dbus::Publisher> publisher_;
    std::optional<dbus::Notices> notices_;
    std::optional<dbus::Intake> intake_;
    std::optional<BusSource> busSource_;
    sdbus::Slot clientsLeaving_;

    std::unique_ptr<core::Scheduled> processExits_;
    std::unique_ptr<core::Scheduled> looking_;
    std::unique_ptr<core::Scheduled> impatience_;
    std::unique_ptr<core::Scheduled> retrying_;
    std::unique_ptr<core::Scheduled> verifying_;
    bool saidUnwritten_ = false; ///< that the state cannot be written
    std::string driverTrouble_;  ///< what was last logged about the driver
    bool ready_ = false;
};

} // namespace genv::service
