// SPDX-License-Identifier: LGPL-2.1-or-later
// The user's jobs as far as Slurm knows them: those that slurmctld remembers, and those in Slurm's
// accounting. slurmctld forgets a job some minutes after its end (MinJobAge), and not every cluster
// keeps accounting. What this object has once seen, it does not forget.
#pragma once

#include "client/genvctl/cluster/jobs/batch_script.hpp"
#include "client/genvctl/cluster/jobs/job_records.hpp"
#include "client/genvctl/cluster/slurm_programs.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace genv::ctl::cluster {

class KnownJobs {
  public:
    /// `uid` is the user's.
    explicit KnownJobs(std::uint32_t uid) : uid_(uid) {}

    /// Asks Slurm again at the next use.
    void expire() { isFresh_ = false; }
    /// Asks Slurm now. Throws Failure; the jobs known before then stay.
    void refresh();

    /// Returns the job. Throws Failure, also for a job of another user.
    const SlurmJobRecord& require(jobs::JobNumber number);
    /// Returns the jobs that wait or run, and those that ended after `since`, in µs since the
    /// epoch. Throws Failure.
    SlurmJobs since(std::uint64_t since);
    /// Returns what the batch script of a job says; empty if Slurm no longer has it.
    const BatchedWork& workOf(jobs::JobNumber number);

    /// Returns why ended jobs that slurmctld has forgotten are unknown; nothing if they are known.
    /// Valid after since() and require().
    [[nodiscard]] std::optional<std::string> whyForgotten() const;

  private:
    void update(SlurmJobs fresh);
    SlurmJobs takeVanished(const SlurmJobs& fresh);
    void settle(SlurmJobs vanished);
    void askAccounting(const std::vector<std::string>& command);
    void addAnswer(SlurmQuestion& question);
    void fillRest(SlurmJobRecord& job);
    [[noreturn]] void failUnknown(jobs::JobNumber number) const;

    std::uint32_t uid_;
    bool isFresh_ = false;
    SlurmJobs jobs_;                                ///< the user's
    std::map<jobs::JobNumber, std::string> others_; ///< jobs of other users, with their names
    std::set<jobs::JobNumber> lookedUp_;            ///< in the accounting
    std::optional<std::string> noAccounting_;       ///< why sacct does not answer
    std::map<jobs::JobNumber, BatchedWork> works_;
};

} // namespace genv::ctl::cluster
