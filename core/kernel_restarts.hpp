// SPDX-License-Identifier: LGPL-2.1-or-later
// Jupyter restarts a kernel by ending its process and starting another with the same connection
// file. Its environment, with its GPUs, is kept for that: the ledger learns of a kernel's exit only
// when no process has taken the kernel's place before the timeout, or nobody is left who would
// start one.
//
// Nothing of this is written down: where the service is restarted meanwhile, the kernel has ended.
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

/// How long an environment waits for its kernel's next process. Jupyter notices after 3 s that a
/// kernel has died, and restarts it then.
inline constexpr std::chrono::seconds kernelRestartTimeout{10};
/// How often the kernel's next process is looked for until then.
inline constexpr std::chrono::seconds kernelSearchInterval{1};

class KernelRestarts {
  public:
    /// All outlive this.
    KernelRestarts(Ledger& ledger, Processes& processes, Kernels& kernels, const Clock& clock,
                   Scheduler& scheduler)
        : ledger_(ledger), processes_(processes), kernels_(kernels), clock_(clock),
          scheduler_(scheduler) {}

    /// A pinned process is gone; the ledger learns of it now or, of a kernel, after the timeout.
    void processExited(const ProcessIdentity& process);

  private:
    struct Awaited {
        std::string kernel;
        Uid owner = 0;
        BootTime since; ///< when the exit was told
        std::chrono::seconds left{0};
        KernelStarter starter;
        std::shared_ptr<const ProcessPin>
            starterPin; ///< once it is pinned, so that its exit is told
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
    std::map<ProcessIdentity, Awaited> awaited_;             ///< by the process that has exited
    std::shared_ptr<bool> lives_ = std::make_shared<bool>(); ///< answers may outlive this
};

} // namespace genv::core
