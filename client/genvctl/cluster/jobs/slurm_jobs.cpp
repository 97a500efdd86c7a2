// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/cluster/jobs/slurm_jobs.hpp"

#include "client/genvctl/cluster/given_options.hpp"
#include "client/genvctl/cluster/jobs/batch_script.hpp"
#include "client/genvctl/cluster/jobs/job_changes.hpp"
#include "client/genvctl/cluster/jobs/job_rows.hpp"
#include "client/genvctl/cluster/jobs/known_jobs.hpp"
#include "client/genvctl/cluster/jobs/sbatch_submission.hpp"
#include "client/genvctl/cluster/questions.hpp"
#include "client/genvctl/common/exit_status.hpp"
#include "client/genvctl/definition/definition.hpp"
#include "client/genvctl/terminal/terminal.hpp"
#include "client/genvctl/terminal/terminal_text.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace genv::ctl::cluster {

namespace {

using std::chrono::milliseconds;
using SteadyTime = std::chrono::steady_clock::time_point;

// Slurm tells no changes, so it is asked: soon after a change, and less often later, as
// "sbatch --wait" does. Logs on a shared file system grow without a notice, and are read each
// second.
constexpr milliseconds tick{1000};
constexpr milliseconds firstPause{1000};
constexpr milliseconds maxPause{10'000};

constexpr std::chrono::hours recentTime{24};
constexpr std::chrono::hours wholeTime{30 * 24}; ///< as long as genv-jobs keeps ended jobs

std::uint64_t before(std::chrono::hours age) {
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(
                                          (currentTime() - age).time_since_epoch())
                                          .count());
}

class SlurmJobSystem : public JobSystem {
  public:
    void requireOptions(const CLI::App& options) const override {
        const Definition& definition = Definition::of(options);
        for (const CLI::Option* option : options.get_options()) {
            const auto meaning = definition.traitsOf(*option).onCluster;
            if (option->count() > 0 && meaning && meaning->use == Handling::Refused)
                throw Failure(ExitStatus::Usage,
                              fmt::format("\"{}\" is not possible on a Slurm cluster: {}",
                                          nameOf(*option), meaning->why),
                              meaning->hint);
        }
    }

    jobs::Submitted submit(const Work& work) override {
        // Slurm would start a job at once whose others it has forgotten.
        Work open = work;
        std::erase_if(open.job.plan.after, [&](const jobs::Dependency& dependency) {
            return isMet(known_.require(dependency.job), dependency.condition);
        });
        jobs::Submitted submitted;
        submitted.job = submitToSlurm(open);
        known_.expire();
        return submitted;
    }

    std::vector<jobs::JobRow> list(bool all) override {
        std::vector<jobs::JobRow> rows;
        for (const auto& [number, job] : known_.since(before(all ? wholeTime : recentTime)))
            rows.push_back(jobRow(job));
        if (const auto why = known_.whyForgotten()) {
            const std::string note = fmt::format("Slurm's earlier jobs are unknown: {}", *why);
            if (all)
                printNote(note);
            else
                printNoteForPerson(note);
        }
        return rows;
    }

    jobs::JobDescription get(jobs::JobNumber number) override {
        const SlurmJobRecord& job = known_.require(number);
        return jobDescription(job, known_.workOf(number));
    }

    std::vector<jobs::TaskRow> tasks(jobs::JobNumber number,
                                     const std::vector<std::uint32_t>& numbers) override {
        const SlurmJobRecord& job = known_.require(number);
        const BatchedWork& work = known_.workOf(number);
        const std::uint64_t now = before(std::chrono::hours{0});
        std::vector<jobs::TaskRow> rows;
        if (numbers.empty()) {
            for (const auto& entry : job.tasks)
                rows.push_back(taskRow(job, entry.first, work, now));
        }
        for (const std::uint32_t each : numbers) {
            requireTask(job, each);
            rows.push_back(taskRow(job, each, work, now));
        }
        return rows;
    }

    std::uint32_t change(Change change, jobs::JobNumber number,
                         const std::vector<std::uint32_t>& numbers) override {
        const SlurmJobRecord& job = known_.require(number);
        for (const std::uint32_t each : numbers)
            requireTask(job, each);
        const std::vector<std::uint32_t> concerned = concernedTasks(job, change, numbers);
        if (!concerned.empty())
            changeTasks(job, change, concerned);
        known_.expire();
        return static_cast<std::uint32_t>(concerned.size());
    }

    void listen() override {}

    jobs::Link::Changes await(int watched, std::optional<milliseconds> timeout) override {
        pollfd watch{watched, POLLIN, 0};
        poll(&watch, 1, static_cast<int>(std::min(timeout.value_or(tick), tick).count()));
        jobs::Link::Changes changes;
        const SteadyTime now = std::chrono::steady_clock::now();
        if (now < nextQuestion_)
            return changes;
        changes.all = askAgain();
        nextQuestion_ = now + pause_;
        pause_ = std::min(pause_ * 2, maxPause);
        return changes;
    }

  private:
    void requireTask(const SlurmJobRecord& job, std::uint32_t number) {
        if (job.tasks.contains(number))
            return;
        const auto why = known_.whyForgotten();
        throw Failure(ExitStatus::Failed,
                      why && job.isArray ? fmt::format("Slurm knows no task {} of job {}: {}",
                                                       number, job.number, *why)
                                         : fmt::format("job {} has no task {}", job.number, number),
                      fmt::format("\"genvctl job {}\" describes the job.", job.number));
    }

    // Waits on while slurmctld is away, as during its restart.
    bool askAgain() {
        try {
            known_.refresh();
            isSilent_ = false;
            return true;
        } catch (const Failure& failure) {
            if (failure.status() != ExitStatus::NoService)
                throw;
            if (!isSilent_)
                printNote(fmt::format("{}; waiting for it", failure.what()));
            isSilent_ = true;
            return false;
        }
    }

    KnownJobs known_{getuid()};
    milliseconds pause_ = firstPause;
    SteadyTime nextQuestion_ = std::chrono::steady_clock::now() + firstPause;
    bool isSilent_ = false;
};

} // namespace

std::unique_ptr<JobSystem> openSlurmJobs() {
    return std::make_unique<SlurmJobSystem>();
}

std::vector<jobs::JobRow> rememberedJobs() {
    std::vector<std::string> words{"timeout", "1"};
    for (std::string& word : rememberedJobsCommand())
        words.push_back(std::move(word));
    SlurmQuestion question(std::move(words));
    std::vector<jobs::JobRow> rows;
    for (const auto& [number, job] : understood(question, readSlurmJobs)) {
        if (job.uid == getuid())
            rows.push_back(jobRow(job));
    }
    return rows;
}

} // namespace genv::ctl::cluster
