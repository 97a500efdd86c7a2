// SPDX-License-Identifier: LGPL-2.1-or-later
// Gives the service access to the machine: its processes, users, Jupyter kernels, GPUs and the
// journal.
#pragma once

#include "core/ports/log.hpp"
#include "core/ports/parker.hpp"
#include "core/ports/slurm.hpp"
#include "service/gpu/gpu_observer.hpp"
#include "service/journal/journal_history.hpp"
#include "service/loop/glib_loop.hpp"
#include "service/loop/system_clock.hpp"
#include "service/processes/cgroup_folders.hpp"
#include "service/processes/host_memory_files.hpp"
#include "service/processes/jupyter_kernel_finder.hpp"
#include "service/processes/process_table.hpp"
#include "service/user_directory.hpp"

#include <functional>
#include <memory>

namespace genv::service {

/// Each part except the clock does its work on its own thread and delivers the answer on the loop.
/// Until then, the part keeps the callback for the answer and everything that the callback owns.
struct MachineAdapters {
    MachineAdapters(GlibLoop& loop, core::Log& log, std::unique_ptr<core::Gpus> gpus,
                    ProcProgram procProgram, std::unique_ptr<core::Slurm> slurm,
                    std::unique_ptr<core::Parker> parker);

    /// Starts to report the exits of pinned processes. Retries the processes that could not be read
    /// at the start.
    void watchProcesses(std::function<void(const core::ProcessIdentity&)> exited);

    SystemClock clock;
    ProcessTable processes;
    UserDirectory users;
    JupyterKernelFinder jupyterKernels;
    GpuObserver observer;
    JournalHistory history;
    CgroupFolders jobCgroups;
    HostMemoryFiles hostMemory;
    const std::unique_ptr<core::Slurm> slurm;   ///< never null
    const std::unique_ptr<core::Parker> parker; ///< never null

  private:
    MachineAdapters(GlibLoop& loop, core::Log& log, std::unique_ptr<core::Gpus> gpus,
                    const ProcAccess& procAccess, std::unique_ptr<core::Slurm> slurm,
                    std::unique_ptr<core::Parker> parker);
    void verifyProcesses();

    GlibLoop& loop_;
    std::unique_ptr<core::Scheduled> processExits_;
    std::unique_ptr<core::Scheduled> verifying_;
};

} // namespace genv::service
