// SPDX-License-Identifier: LGPL-2.1-or-later
// What runs the user's jobs: genv-jobs on this machine, or Slurm on a cluster. The commands for
// jobs use only this. Context::openJobs() opens the one that this command is about.
#pragma once

#include "client/genvctl/jobs/work.hpp"
#include "client/jobs/link/link.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace CLI {
class App;
}

namespace genv::ctl {

/// The functions are those of jobs::Link. They throw Failure, and what jobs::Link throws.
class JobSystem {
  public:
    JobSystem() = default;
    JobSystem(const JobSystem&) = delete;
    JobSystem& operator=(const JobSystem&) = delete;
    virtual ~JobSystem() = default;

    /// Throws Failure(Usage) for an option of "submit" that has no counterpart in this system.
    virtual void requireOptions(const CLI::App& options) const = 0;
    virtual jobs::Submitted submit(const Work& work) = 0;

    virtual std::vector<jobs::JobRow> list(bool all) = 0;
    virtual jobs::JobDescription get(jobs::JobNumber job) = 0;
    /// Without numbers, describes all tasks.
    virtual std::vector<jobs::TaskRow> tasks(jobs::JobNumber job,
                                             const std::vector<std::uint32_t>& numbers) = 0;

    /// A change of tasks, or of all if there are no numbers.
    enum class Change : std::uint8_t { Cancel, Hold, Release, Requeue };
    /// Returns how many tasks it concerned.
    virtual std::uint32_t change(Change change, jobs::JobNumber job,
                                 const std::vector<std::uint32_t>& tasks) = 0;

    /// Listens for changes from now on: call it before asking for the state that may change.
    virtual void listen() = 0;
    /// Blocks until jobs changed, `watched` is readable (-1 = none), or for so long; it may return
    /// sooner, without changes.
    virtual jobs::Link::Changes await(int watched,
                                      std::optional<std::chrono::milliseconds> timeout) = 0;
};

/// Connects to genv-jobs.
std::unique_ptr<JobSystem> openOwnJobs();

} // namespace genv::ctl
