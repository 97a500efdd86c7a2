// SPDX-License-Identifier: LGPL-2.1-or-later
// Jupyter restarts a kernel by ending its process and starting another one with the same connection
// file. The environment keeps its GPUs during the restart. The ledger is notified of a kernel's
// exit only if no process has replaced the kernel before the timeout, or if the program that would
// restart it is gone.
//
// The pending restarts are not persistent: if the service itself is restarted in the meantime, the
// kernel counts as ended.
#pragma once

#include "core/ledger.hpp"
#include "core/ports/clock.hpp"
#include "core/ports/kernels.hpp"
#include "core/ports/processes.hpp"
#include "core/ports/scheduler.hpp"

#include <chrono>
#include <map>
#include <memory>
#include <string>

namespace genv::core {

/// How long an environment waits for the next process of its kernel. Jupyter notices after 3 s that
/// a kernel has died, and restarts it then.
inline constexpr std::chrono::seconds kernelRestartTimeout{10};
/// How often to look for the next process of the kernel during that time.
inline constexpr std::chrono::seconds kernelSearchInterval{1};

class KernelRestarts {
  public:
    /// All referenced objects must outlive this one.
    KernelRestarts(Ledger& ledger, Processes& processes, Kernels& kernels, const Clock& clock,
                   Scheduler& scheduler)
        : ledger_(ledger), processes_(processes), kernels_(kernels), clock_(clock),
          scheduler_(scheduler) {}

    /// Handles the exit of a pinned process. The ledger is notified immediately or, for a kernel,
    /// after the timeout.
    void processExited(const ProcessIdentity& process);

  private:
    struct Awaited {
        std::string kernel;
        Uid owner = 0;
        BootTime since; ///< when the exit was reported
        std::chrono::seconds remaining{0};
        KernelStarter starter;
        std::shared_ptr<const ProcessPin>
            starterPin; ///< reports the starter's exit; null until it is pinned
        std::unique_ptr<Scheduled> timer;
    };

    void watchStarter(const ProcessIdentity& process);
    void giveUpOnThoseOf(const ProcessIdentity& starter);
    void giveUp(const ProcessIdentity& process);
    void searchLater(const ProcessIdentity& process);
    void search(const ProcessIdentity& process);
    void found(const ProcessIdentity& process, Kernels::Found candidates);
    void pinned(const ProcessIdentity& process, const ProcessIdentity& candidate,
                const ProcessRead<PinnedProcess>& read);

    Ledger& ledger_;
    Processes& processes_;
    Kernels& kernels_;
    const Clock& clock_;
    Scheduler& scheduler_;
    std::map<ProcessIdentity, Awaited> awaited_; ///< by the process that exited
    std::shared_ptr<bool> lives_ =
        std::make_shared<bool>(); ///< expires with this object, so that late replies are dropped
};

} // namespace genv::core
