// SPDX-License-Identifier: LGPL-2.1-or-later
// Carries out what the book decides: requests for the tasks that are next, an attempt for each
// grant, and an end for what the user no longer wants. It acts once in a turn of the loop, after
// everything that has arrived, and sleeps while tasks only wait.
#pragma once

#include "client/jobs/daemon/attempts.hpp"
#include "client/jobs/daemon/runner.hpp"
#include "client/jobs/daemon/service_link.hpp"
#include "client/jobs/daemon/submissions.hpp"
#include "client/jobs/daemon/task_requests.hpp"
#include "client/jobs/daemon/unit_link.hpp"
#include "client/jobs/model/book.hpp"
#include "client/loop.hpp"

#include <sys/types.h>

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace genv::jobs {

class TaskScheduler {
  public:
    /// The jobs that were added and changed in a turn of the loop.
    using Changed =
        std::function<void(const std::set<JobNumber>& added, const std::set<JobNumber>& changed)>;
    /// The buses of the user and of the system, which outlive this object.
    struct Buses {
        const event::LoopBus& user;
        const event::LoopBus& system;
    };

    TaskScheduler(Book& book, JobStore& store, const Places& places, const Buses& buses,
                  sd_event* loop, uid_t uid, const std::string& runner, Changed changed);
    TaskScheduler(const TaskScheduler&) = delete;
    TaskScheduler& operator=(const TaskScheduler&) = delete;

    [[nodiscard]] Book& book() noexcept { return book_; }
    [[nodiscard]] const Requests& requests() const noexcept { return requests_; }
    [[nodiscard]] Submissions& submissions() noexcept { return submissions_; }
    [[nodiscard]] ServiceLink& service() noexcept { return service_; }
    /// Whether the user's manager runs, which jobs need.
    [[nodiscard]] bool hasManager() const noexcept { return units_.isThere(); }
    /// Whether genvd runs.
    [[nodiscard]] bool hasService() const noexcept { return service_.isThere(); }

    // What the user asks for; see Book. They return the number of tasks concerned.
    std::size_t cancel(JobNumber job, const std::vector<std::uint32_t>& tasks);
    std::size_t hold(JobNumber job, const std::vector<std::uint32_t>& tasks);
    std::size_t release(JobNumber job, const std::vector<std::uint32_t>& tasks);
    std::size_t requeue(JobNumber job, const std::vector<std::uint32_t>& tasks);

  private:
    void onBook(const std::set<JobNumber>& added, const std::set<JobNumber>& changed);
    void onGranted(TaskName task, TaskGrant grant);
    [[nodiscard]] std::unique_ptr<Runner> startRunner(const AttemptName& attempt);
    void onManager(bool isThere);
    void act();
    void makeRequests();
    void open(TaskName task);
    std::size_t end(const std::vector<TaskName>& tasks);

    Book& book_;
    Submissions submissions_;
    const Changed changed_;
    std::set<JobNumber> addedJobs_;
    std::set<JobNumber> changedJobs_;
    sd_event* const loop_;
    const Runner::Listener runnerListener_;
    event::Deferred turn_;
    event::WallTimer begin_;
    ServiceLink service_;
    Requests requests_;
    UnitLink units_;
    Attempts attempts_;
};

} // namespace genv::jobs
