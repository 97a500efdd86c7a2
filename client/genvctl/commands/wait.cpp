// SPDX-License-Identifier: LGPL-2.1-or-later
// wait: waits until jobs have ended.
#include "client/genvctl/commands/commands.hpp"
#include "client/genvctl/context/context.hpp"
#include "client/genvctl/definition/definition.hpp"
#include "client/genvctl/jobs/job_system.hpp"
#include "client/genvctl/jobs/selection.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace genv::ctl {

namespace {

// Returns the exit status; nothing while it waits or runs.
std::optional<int> statusNow(JobSystem& system, const NamedTasks& named) {
    if (named.isWhole) {
        const jobs::JobDescription job = system.get(named.job);
        return job.hasEnded() ? std::optional(statusOf(job)) : std::nullopt;
    }
    int worst = 0;
    for (const jobs::TaskRow& task : describeTasks(system, named)) {
        if (!task.hasEnded())
            return std::nullopt;
        worst = std::max(worst, statusOf(task));
    }
    return worst;
}

int waitForAll(JobSystem& system, std::vector<NamedTasks> pending) {
    system.listen();
    int worst = 0;
    jobs::Link::Changes changes;
    changes.all = true;
    while (!pending.empty()) {
        std::erase_if(pending, [&](const NamedTasks& named) {
            if (!changes.all && !changes.jobs.contains(named.job))
                return false;
            const auto status = statusNow(system, named);
            worst = std::max(worst, status.value_or(0));
            return status.has_value();
        });
        if (!pending.empty())
            changes = system.await(-1, {});
    }
    return worst;
}

} // namespace

constexpr std::array waitExamples{
    Example{"Evaluate as soon as both jobs have succeeded", "genvctl wait 17 18 && ./evaluate.sh"},
};

void addWait(CLI::App& app, Context& context) {
    CLI::App* command = addCommand(app, "wait", "Wait until jobs have ended",
                                   {.onCluster = cluster::aboutUserJobs, .examples = waitExamples});
    const auto jobs = std::make_shared<std::vector<std::string>>();
    addOption(*command, "JOB", *jobs, "Wait for these jobs or tasks: 17, 17.3, 17.1-20",
              {.values = ValueKind::Job, .onCluster = cluster::mapped})
        ->required()
        ->type_name("");
    command->footer(
        "Exits with the highest status of the jobs: 128+N for signal N, and 1 for a job\n"
        "that was lost or canceled.");
    command->callback([&context, jobs] {
        context.command = [&context, jobs] {
            std::vector<NamedTasks> named;
            for (const std::string& job : *jobs)
                named.push_back(parseTasks(job));
            endWith(waitForAll(*context.openJobs(), std::move(named)));
        };
    });
}

} // namespace genv::ctl
