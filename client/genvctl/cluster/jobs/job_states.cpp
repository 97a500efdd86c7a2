// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/cluster/jobs/job_states.hpp"

#include "client/genvctl/terminal/terminal_text.hpp"
#include "core/base/time.hpp"
#include "core/sentences/sentences.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <string_view>

namespace genv::ctl::cluster {

namespace {

/// The first of these that a job has decides: flags such as COMPLETING come before the state that
/// the job will have.
struct StateRow {
    const char* slurm;
    const char* word;
    const char* reason; ///< how it ended, in words
};
constexpr std::array stateRows{
    StateRow{"REQUEUE_HOLD", "held", ""},
    StateRow{"SPECIAL_EXIT", "held", ""},
    StateRow{"PENDING", "waiting", ""},
    StateRow{"REQUEUED", "waiting", ""},
    StateRow{"REQUEUE_FED", "waiting", ""},
    StateRow{"COMPLETING", "running", ""},
    StateRow{"CONFIGURING", "running", ""},
    StateRow{"RUNNING", "running", ""},
    StateRow{"SUSPENDED", "running", ""},
    StateRow{"STOPPED", "running", ""},
    StateRow{"RESIZING", "running", ""},
    StateRow{"SIGNALING", "running", ""},
    StateRow{"STAGE_OUT", "running", ""},
    StateRow{"TIMEOUT", "failed", "it reached its time limit"},
    StateRow{"OUT_OF_MEMORY", "failed", "it ran out of memory"},
    StateRow{"DEADLINE", "failed", "it missed its deadline"},
    StateRow{"NODE_FAIL", "lost", "its node failed"},
    StateRow{"BOOT_FAIL", "lost", "its node did not start"},
    StateRow{"LAUNCH_FAILED", "lost", "its node could not start it"},
    StateRow{"PREEMPTED", "lost", "it was preempted"},
    StateRow{"CANCELLED", "canceled", ""},
    StateRow{"REVOKED", "canceled", ""},
    StateRow{"FAILED", "failed", ""},
    StateRow{"COMPLETED", "done", ""},
};

const StateRow* rowOf(const std::set<std::string>& states) {
    const auto found = std::find_if(stateRows.begin(), stateRows.end(), [&](const StateRow& row) {
        return states.contains(row.slurm);
    });
    return found == stateRows.end() ? nullptr : &*found;
}

std::string waitsForOthers(const SlurmJobRecord& job) {
    std::vector<std::string> others;
    for (const jobs::Dependency& dependency : job.after)
        others.push_back(std::to_string(dependency.job));
    if (others.empty())
        return "waits for other jobs";
    return fmt::format("waits for {} {}", others.size() == 1 ? "job" : "jobs",
                       joined(others, ", "));
}

std::string endOfFailed(const SlurmTask& task) {
    if (task.signal > 0) {
        const char* name = ::sigabbrev_np(task.signal);
        return name != nullptr ? fmt::format("ended by SIG{}", name)
                               : fmt::format("ended by signal {}", task.signal);
    }
    return fmt::format("exit status {}", std::max(task.status, 1));
}

} // namespace

std::optional<std::string> stateWord(const std::set<std::string>& states,
                                     const std::string& reason) {
    const StateRow* row = rowOf(states);
    if (row == nullptr)
        return std::nullopt;
    const bool isHeld = reason == "JobHeldUser" || reason == "JobHeldAdmin";
    return isHeld && std::string_view(row->word) == "waiting" ? "held" : row->word;
}

std::string whyWaiting(const SlurmJobRecord& job, const std::string& reason) {
    if (reason.empty() || reason == "None")
        return "";
    if (reason == "JobHeldUser")
        return "held";
    if (reason == "JobHeldAdmin")
        return "by an administrator";
    if (reason == "Resources")
        return job.gpus > 0 ? "waits for free GPUs" : "waits for free nodes";
    if (reason == "Priority")
        return "other jobs are next";
    if (reason == "Dependency")
        return waitsForOthers(job);
    if (reason == "DependencyNeverSatisfied")
        return "the end of another job lets it never start";
    if (reason == "BeginTime" && job.begin != 0)
        return fmt::format("begins {:%a %Y-%m-%d %H:%M:%S}",
                           core::localTime(core::fromMicroseconds(job.begin)));
    if (reason == "JobArrayTaskLimit" && job.parallel > 0)
        return fmt::format("{} of this job run already", core::counted(job.parallel, "task"));
    return fmt::format("Slurm's reason is {}", reason);
}

std::string howEnded(const SlurmTask& task, const std::set<std::string>& states,
                     const std::string& reason) {
    const StateRow* row = rowOf(states);
    if (row != nullptr && *row->reason != '\0')
        return row->reason;
    if (task.state == "failed")
        return endOfFailed(task);
    if (task.state == "canceled" && reason == "DependencyNeverSatisfied")
        return "the end of another job let it never start";
    return "";
}

} // namespace genv::ctl::cluster
