// SPDX-License-Identifier: LGPL-2.1-or-later
// How GPUs are shared: the ledger and its documents, the queue, locks, leases, and everything else
// that changes the ledger over time.
#pragma once

#include "core/devices/idleness.hpp"
#include "core/devices/memory_watch.hpp"
#include "core/devices/occupancy.hpp"
#include "core/devices/reading_ring.hpp"
#include "core/environments/jupyter_kernel_restarts.hpp"
#include "core/environments/leases.hpp"
#include "core/environments/lingering.hpp"
#include "core/environments/locks.hpp"
#include "core/isolation/isolation.hpp"
#include "core/isolation/refusal_watch.hpp"
#include "core/ledger/ledger.hpp"
#include "core/ledger/recovery.hpp"
#include "core/loans/takings.hpp"
#include "core/parking/parkings.hpp"
#include "core/queue/queue.hpp"
#include "core/settings/settings.hpp"
#include "core/slurm/jobs.hpp"
#include "core/use/decayed_use.hpp"
#include "core/use/start_history.hpp"
#include "core/use/use_recorder.hpp"
#include "service/lock_pipes.hpp"
#include "service/machine_adapters.hpp"
#include "service/state/file_store.hpp"
#include "service/state/reported_opens_file.hpp"
#include "service/state/use_files.hpp"

#include <filesystem>

namespace genv::service {

struct Sharing {
    /// The documents are below `runtime`, and what outlives the boot is below `state`. All
    /// arguments must outlive this object. The settings may change.
    Sharing(MachineAdapters& machine, GlibLoop& loop, core::Log& log,
            const std::filesystem::path& runtime, const std::filesystem::path& state,
            const core::Settings& settings, core::Gates& gates);

    /// Reads the documents and resumes the environments whose processes still exist.
    core::RecoveryReport recover();
    /// Keeps the places of requests that waited before the start.
    void resumeWaits();
    /// Handles a change of the settings.
    void settingsChanged();
    /// Processes a sample of the GPUs.
    void observed(const core::Observation& observation);
    /// Handles a sample to which the driver did not reply.
    void driverFailed();

    FileStore store;
    core::EventHub events;
    core::Ledger ledger;
    core::Isolation isolation; ///< guards the ledger's changes as long as there are any
    ReportedOpensFile reportedOpens;
    core::RefusalWatch refusedOpens;
    core::Lingering lingering;
    core::Occupancy occupancy;
    LockPipes lockPipes;
    UseFiles useFiles;
    core::DecayedUse use;
    core::StartHistory startHistory;
    core::UseRecorder useRecorder;
    core::Queue queue;
    core::Locks locks;
    core::Leases leases;
    core::JupyterKernelRestarts jupyterKernelRestarts;
    core::Idleness idleness;
    core::MemoryWatch memoryWatch;
    core::ReadingRing readings;
    core::Jobs jobs;
    core::Parkings parkings;
    core::Takings takings;

  private:
    void lookAtGate();

    MachineAdapters& machine_;
    const core::Settings& settings_;
};

} // namespace genv::service
