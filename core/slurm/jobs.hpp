// SPDX-License-Identifier: LGPL-2.1-or-later
// Finds Slurm jobs independently of the prolog and epilog, neither of which is certain to run.
//
// If a job uses one of Slurm's devices without a report from the prolog, its environment starts
// when a compute process is seen in the job's cgroup. A job ends once its cgroup has been gone for
// five minutes. Where cgroups have SLUIDs for names, Slurm is asked about a SLUID that no prolog
// reported.
#pragma once

#include "core/ledger/events.hpp"
#include "core/ledger/ledger.hpp"
#include "core/ports/clock.hpp"
#include "core/ports/job_cgroups.hpp"
#include "core/ports/log.hpp"
#include "core/ports/observer.hpp"
#include "core/ports/users.hpp"
#include "core/slurm/job_numbers.hpp"

#include <chrono>
#include <map>
#include <optional>
#include <set>

namespace genv::core {

/// How long a job's cgroup must be gone before its environment ends. Slurm creates the cgroup some
/// time after the prolog.
inline constexpr std::chrono::minutes jobGoneAfter{5};

class Jobs {
  public:
    /// All referenced objects must outlive this one, which must outlive the last iteration of the
    /// loop.
    Jobs(Ledger& ledger, Users& users, JobCgroups& cgroups, Slurm& slurm, const Clock& clock,
         Log& log)
        : ledger_(ledger), users_(users), cgroups_(cgroups), clock_(clock), log_(log),
          numbers_(slurm, clock, log) {}

    /// Processes a sample of the GPUs. Call this after the ledger has processed it.
    void observed(const Observation& observation);
    /// Checks which jobs are gone. Call this periodically. It does nothing while there is no job.
    void check();
    /// Handles an event of the ledger.
    void onEvent(const Event& event);
    /// Asks Slurm about the job of a cgroup if it may be one whose environment has no SLUID yet.
    /// Calls `done` once, before this returns if Slurm need not be asked. From then on, findJob()
    /// of the ledger finds the environment if there is one.
    void identify(const SlurmJobName& name, std::function<void()> done);

  private:
    /// What the sampled compute processes reveal about a job.
    struct Seen {
        Uid owner = 0;
        BootTime started; ///< when the sample began
        std::set<DeviceUuid> devices;
    };
    using SeenJobs = std::map<SlurmJobName, Seen>;
    /// Tracks whether a job's cgroup is gone.
    struct Absence {
        bool wasThere = false;
        std::optional<BootTime> since;
    };

    void add(const ObservedProcess& process, BootTime started, SeenJobs& seen) const;
    [[nodiscard]] bool isReported(const SlurmJobName& name) const;
    [[nodiscard]] bool hasEnded(const SlurmJobName& name, BootTime started) const;
    [[nodiscard]] bool mayBeIdentified(const SlurmJobName& name) const;
    void number(const SlurmJobName& name, const Seen& seen, const UserInfo& owner);
    void start(const NewSlurmJob& wanted, const Seen& seen);
    void judge(const JobCgroupList& present);

    Ledger& ledger_;
    Users& users_;
    JobCgroups& cgroups_;
    const Clock& clock_;
    Log& log_;
    std::map<std::uint64_t, Absence> absences_; ///< by the sequence number of the environment
    /// When jobs ended. A sample that began before that moment is ignored for the job.
    std::map<SlurmJobName, BootTime> ended_;
    JobNumbers numbers_;
    bool isAsking_ = false;
};

} // namespace genv::core
