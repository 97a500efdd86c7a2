// SPDX-License-Identifier: LGPL-2.1-or-later
// How GPUs are shared: the ledger and its documents, the queue, locks, leases, and everything else
// that changes the ledger over time.
#pragma once

#include "core/idleness.hpp"
#include "core/isolation.hpp"
#include "core/jobs.hpp"
#include "core/kernel_restarts.hpp"
#include "core/leases.hpp"
#include "core/ledger.hpp"
#include "core/lingering.hpp"
#include "core/locks.hpp"
#include "core/memory_watch.hpp"
#include "core/occupancy.hpp"
#include "core/queue.hpp"
#include "core/reading_ring.hpp"
#include "core/recovery.hpp"
#include "core/refusal_watch.hpp"
#include "core/settings.hpp"
#include "core/start_history.hpp"
#include "core/use_recorder.hpp"
#include "core/user_use.hpp"
#include "service/lock_pipes.hpp"
#include "service/machine.hpp"
#include "service/state/file_store.hpp"
#include "service/state/reported_opens_file.hpp"
#include "service/state/use_files.hpp"

#include <filesystem>

namespace genv::service {

struct Sharing {
    /// The documents are below `runtime`, and what outlives the boot is below `state`. All
    /// arguments must outlive this object. The settings may change.
    Sharing(Machine& machine, GlibLoop& loop, core::Log& log, const std::filesystem::path& runtime,
            const std::filesystem::path& state, const core::Settings& settings, core::Gates& gates);

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
    core::UserUse use;
    core::StartHistory startHistory;
    core::UseRecorder useRecorder;
    core::Queue queue;
    core::Locks locks;
    core::Leases leases;
    core::KernelRestarts kernelRestarts;
    core::Idleness idleness;
    core::MemoryWatch memoryWatch;
    core::ReadingRing readings;
    core::Jobs jobs;

  private:
    void lookAtGate();

    Machine& machine_;
    const core::Settings& settings_;
};

} // namespace genv::service
