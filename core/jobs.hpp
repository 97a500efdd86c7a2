// SPDX-License-Identifier: LGPL-2.1-or-later
// Slurm's jobs beside what a prolog and an epilog say of them, neither of which is certain to run.
//
// A job that uses a device of Slurm's and that nobody told of begins when a compute process is seen
// in its control group. A job ends once its control group has been gone for five minutes.
#pragma once

#include "core/events.hpp"
#include "core/ledger.hpp"
#include "core/ports/clock.hpp"
#include "core/ports/job_cgroups.hpp"
#include "core/ports/log.hpp"
#include "core/ports/observer.hpp"
#include "core/ports/users.hpp"

#include <chrono>
#include <map>
#include <optional>
#include <set>

namespace genv::core {

/// How long a job's control group has to be gone before its environment ends. Slurm makes it some
/// time after the prolog.
inline constexpr std::chrono::minutes jobGoneAfter{5};

class Jobs {
  public:
    /// All outlive this, and so does the loop's last turn.
    Jobs(Ledger& ledger, Users& users, JobCgroups& cgroups, const Clock& clock, Log& log)
        : ledger_(ledger), users_(users), cgroups_(cgroups), clock_(clock), log_(log) {}

    /// Takes a sample of the GPUs into account, after the ledger has.
    void observed(const Observation& observation);
    /// Looks which jobs are gone. To be called from time to time; asks nothing while there is no
    /// job.
    void check();
    /// Hears an event of the ledger.
    void onEvent(const Event& event);

  private:
    /// What compute processes show of a job.
    struct Seen {
        Uid owner = 0;
        std::set<DeviceUuid> devices;
    };
    using SeenJobs = std::map<SlurmJobId, Seen>;
    /// Of a job's control group.
    struct Absence {
        bool wasThere = false;
        std::optional<BootTime> since;
    };

    void add(const ComputeProcess& process, BootTime started, SeenJobs& seen) const;
    [[nodiscard]] bool isTold(SlurmJobId job) const;
    void start(SlurmJobId job, const Seen& seen, const UserInfo& owner);
    void judge(const JobCgroupList& present);

    Ledger& ledger_;
    Users& users_;
    JobCgroups& cgroups_;
    const Clock& clock_;
    Log& log_;
    std::map<std::uint64_t, Absence> absences_; ///< by the environment's sequence
    /// When jobs ended: a sample that began before says nothing of them any more.
    std::map<SlurmJobId, BootTime> ended_;
    bool isAsking_ = false;
};

} // namespace genv::core
