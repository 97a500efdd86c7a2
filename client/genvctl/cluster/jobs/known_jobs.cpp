// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/cluster/jobs/known_jobs.hpp"

#include "client/genvctl/cluster/jobs/accounting.hpp"
#include "client/genvctl/cluster/jobs/job_rows.hpp"
#include "client/genvctl/cluster/questions.hpp"
#include "client/genvctl/common/exit_status.hpp"
#include "client/genvctl/terminal/terminal_text.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <utility>

namespace genv::ctl::cluster {

namespace {

/// Sets a variable of this process for the programs that start during its lifetime.
class ScopedVariable {
  public:
    ScopedVariable(const char* name, const char* value) : name_(name) {
        if (const char* before = std::getenv(name))
            before_ = before;
        setenv(name, value, 1);
    }
    ScopedVariable(const ScopedVariable&) = delete;
    ScopedVariable& operator=(const ScopedVariable&) = delete;
    ~ScopedVariable() {
        if (before_)
            setenv(name_, before_->c_str(), 1);
        else
            unsetenv(name_);
    }

  private:
    const char* name_;
    std::optional<std::string> before_;
};

// Without the variable, Slurm cuts long lists of tasks.
SlurmQuestion startRemembered() {
    const ScopedVariable whole("SLURM_BITSTR_LEN", "0");
    return SlurmQuestion(rememberedJobsCommand());
}

// sacct prints times as seconds since the epoch.
std::unique_ptr<SlurmQuestion> startAccounting(const std::vector<std::string>& command) {
    const ScopedVariable timeFormat("SLURM_TIME_FORMAT", "%s");
    return std::make_unique<SlurmQuestion>(command);
}

std::uint64_t nowInMicroseconds() {
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::microseconds>(currentTime().time_since_epoch())
            .count());
}

std::string accountingTime(std::uint64_t since) {
    return fmt::format("now-{}seconds", (nowInMicroseconds() - since) / microsecondsPerSecond);
}

// Returns how long slurmctld remembers an ended job, in words.
std::string memoryOfSlurm() {
    const auto seconds = slurmSetting("MinJobAge");
    return seconds ? spanText(std::chrono::seconds(*seconds)) : "some minutes";
}

} // namespace

void KnownJobs::refresh() {
    SlurmQuestion question = startRemembered();
    update(understood(question, readSlurmJobs));
    isFresh_ = true;
}

void KnownJobs::update(SlurmJobs fresh) {
    others_.clear();
    for (auto job = fresh.begin(); job != fresh.end();) {
        if (job->second.uid == uid_) {
            ++job;
            continue;
        }
        others_.emplace(job->first, job->second.user);
        job = fresh.erase(job);
    }
    const SlurmJobs vanished = takeVanished(fresh);
    std::swap(jobs_, fresh);
    addForgotten(jobs_, std::move(fresh));
    settle(vanished);
}

// Returns the tasks that ran or waited when Slurm was asked before, and are unknown now.
SlurmJobs KnownJobs::takeVanished(const SlurmJobs& fresh) {
    SlurmJobs vanished;
    for (auto& known : jobs_) {
        const auto number = known.first;
        SlurmJobRecord& job = known.second;
        const auto now = fresh.find(number);
        std::erase_if(job.tasks, [&](const auto& entry) {
            const bool isKnown = entry.second.hasEnded() ||
                                 (now != fresh.end() && now->second.tasks.contains(entry.first));
            if (isKnown)
                return false;
            if (!vanished.contains(number)) {
                SlurmJobRecord& copy = vanished[number] = job;
                copy.tasks.clear();
            }
            vanished[number].tasks.insert(entry);
            return true;
        });
    }
    std::erase_if(jobs_, [](const auto& entry) { return entry.second.tasks.empty(); });
    return vanished;
}

void KnownJobs::settle(SlurmJobs vanished) {
    for (auto& [number, job] : vanished) {
        askAccounting(endedJobCommand(uid_, number));
        const auto known = jobs_.find(number);
        const bool isRest = known != jobs_.end() && known->second.rest;
        for (auto& [task, row] : job.tasks) {
            if (isRest) {
                row = *known->second.rest;
                continue;
            }
            row.state = "lost";
            row.reason = "Slurm no longer knows how it ended";
            row.ended = nowInMicroseconds();
            row.status = 1;
        }
    }
    addForgotten(jobs_, std::move(vanished));
}

void KnownJobs::askAccounting(const std::vector<std::string>& command) {
    if (noAccounting_)
        return;
    try {
        addAnswer(*startAccounting(command));
    } catch (const SlurmRefusal& refusal) {
        noAccounting_ = refusal.why();
    }
}

void KnownJobs::addAnswer(SlurmQuestion& question) {
    addForgotten(jobs_, understood(question, [this](const std::string& text) {
                     return readAccounting(text, uid_);
                 }));
}

const SlurmJobRecord& KnownJobs::require(jobs::JobNumber number) {
    if (!isFresh_)
        refresh();
    auto found = jobs_.find(number);
    const bool mayLack = found == jobs_.end() || found->second.isArray;
    if (mayLack && !others_.contains(number) && lookedUp_.insert(number).second) {
        askAccounting(endedJobCommand(uid_, number));
        found = jobs_.find(number);
    }
    if (found == jobs_.end())
        failUnknown(number);
    fillRest(found->second);
    return found->second;
}

void KnownJobs::failUnknown(jobs::JobNumber number) const {
    if (const auto other = others_.find(number); other != others_.end())
        throw Failure(ExitStatus::NotAuthorized,
                      fmt::format("job {} of the cluster belongs to {}", number, other->second),
                      "\"genvctl jobs\" lists your jobs; \"genvctl queue\" shows those of all "
                      "users.");
    const auto why = whyForgotten();
    throw Failure(ExitStatus::Failed,
                  why ? fmt::format("Slurm knows no job {}: {}", number, *why)
                      : fmt::format("there is no job {} on the cluster", number),
                  "\"genvctl jobs --all\" lists your jobs on the cluster, and with \"--cluster "
                  "none\" those of this machine.");
}

SlurmJobs KnownJobs::since(std::uint64_t since) {
    std::unique_ptr<SlurmQuestion> accounting;
    if (!noAccounting_) {
        try {
            accounting = startAccounting(endedSinceCommand(uid_, accountingTime(since)));
        } catch (const Failure& failure) {
            noAccounting_ = failure.what();
        }
    }
    if (!isFresh_)
        refresh();
    if (accounting) {
        try {
            addAnswer(*accounting);
        } catch (const SlurmRefusal& refusal) {
            noAccounting_ = refusal.why();
        }
    }
    for (auto& [number, job] : jobs_)
        fillRest(job);
    SlurmJobs recent = jobs_;
    std::erase_if(recent, [&](const auto& entry) {
        const std::uint64_t end = endOf(entry.second);
        return end != 0 && end < since;
    });
    return recent;
}

// The job's own script says which tasks there are.
void KnownJobs::fillRest(SlurmJobRecord& job) {
    if (!job.rest)
        return;
    for (const std::uint32_t number : workOf(job.number).tasks)
        job.tasks.emplace(number, *job.rest);
    if (job.tasks.empty())
        job.tasks.emplace(0, *job.rest);
}

const BatchedWork& KnownJobs::workOf(jobs::JobNumber number) {
    const auto [work, isNew] = works_.try_emplace(number);
    if (!isNew)
        return work->second;
    try {
        SlurmQuestion question({"scontrol", "write", "batch_script", std::to_string(number), "-"});
        work->second = readBatchScript(question.answer()).value_or(BatchedWork{});
    } catch (const Failure&) { // NOLINT(bugprone-empty-catch): Slurm no longer has the script
    }
    return work->second;
}

std::optional<std::string> KnownJobs::whyForgotten() const {
    if (!noAccounting_)
        return std::nullopt;
    return fmt::format("it forgets a job {} after its end, and its accounting does not answer ({})",
                       memoryOfSlurm(), *noAccounting_);
}

} // namespace genv::ctl::cluster
