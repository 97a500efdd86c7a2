// SPDX-License-Identifier: LGPL-2.1-or-later
// A Jupyter server restarts a Jupyter kernel by ending its process and starting another one with
// the same connection file. The environment keeps its GPUs during the restart. The ledger is
// notified of a Jupyter kernel's exit only if no process has replaced it before the timeout, or if
// the program that would restart it is gone.
//
// The pending restarts are not persistent: if the service itself is restarted in the meantime, the
// Jupyter kernel counts as ended.
#pragma once

#include "core/ledger/ledger.hpp"
#include "core/ports/clock.hpp"
#include "core/ports/jupyter_kernels.hpp"
#include "core/ports/processes.hpp"
#include "core/ports/scheduler.hpp"

#include <chrono>
#include <map>
#include <memory>
#include <string>

namespace genv::core {

/// How long an environment waits for the next process of its Jupyter kernel. Jupyter notices after
/// 3 s that the old one has died, and restarts it then.
inline constexpr std::chrono::seconds jupyterKernelRestartTimeout{10};
/// How often to look for the next process of the Jupyter kernel during that time.
inline constexpr std::chrono::seconds jupyterKernelSearchInterval{1};

class JupyterKernelRestarts {
  public:
    /// All referenced objects must outlive this one.
    JupyterKernelRestarts(Ledger& ledger, Processes& processes, JupyterKernels& jupyterKernels,
                          const Clock& clock, Scheduler& scheduler)
        : ledger_(ledger), processes_(processes), jupyterKernels_(jupyterKernels), clock_(clock),
          scheduler_(scheduler) {}

    /// Handles the exit of a pinned process. The ledger is notified immediately or, for a Jupyter
    /// kernel, after the timeout.
    void processExited(const ProcessIdentity& process);

  private:
    struct Awaited {
        std::string jupyterKernel;
        Uid owner = 0;
        BootTime since; ///< when the exit was reported
        std::chrono::seconds remaining{0};
        JupyterKernelStarter starter;
        std::shared_ptr<const ProcessPin>
            starterPin; ///< reports the starter's exit; null until it is pinned
        std::unique_ptr<Scheduled> timer;
    };

    void watchStarter(const ProcessIdentity& process);
    void giveUpOnThoseOf(const ProcessIdentity& starter);
    void giveUp(const ProcessIdentity& process);
    void searchLater(const ProcessIdentity& process);
    void search(const ProcessIdentity& process);
    void found(const ProcessIdentity& process, JupyterKernels::Found candidates);
    void pinned(const ProcessIdentity& process, const ProcessIdentity& candidate,
                const ProcessRead<PinnedProcess>& read);

    Ledger& ledger_;
    Processes& processes_;
    JupyterKernels& jupyterKernels_;
    const Clock& clock_;
    Scheduler& scheduler_;
    std::map<ProcessIdentity, Awaited> awaited_; ///< by the process that exited
    std::shared_ptr<bool> lives_ =
        std::make_shared<bool>(); ///< expires with this object, so that late replies are dropped
};

} // namespace genv::core
