// SPDX-License-Identifier: LGPL-2.1-or-later
// What the calls of dev.genv.Jobs do, once the database is open: the parts of genv-jobs together.
#pragma once

#include "client/jobs/daemon/descriptions.hpp"
#include "client/jobs/daemon/housekeeping.hpp"
#include "client/jobs/daemon/job_reply.hpp"
#include "client/jobs/daemon/request.hpp"
#include "client/jobs/daemon/sampler.hpp"
#include "client/jobs/daemon/task_scheduler.hpp"
#include "client/jobs/daemon/user_lingering.hpp"
#include "client/jobs/model/book.hpp"

#include <sys/types.h>

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace genv::jobs {

class Engine {
  public:
    using Numbers = std::vector<std::uint32_t>;
    using Describe = std::function<void(const Descriptions&, dbus::raw::Writer&)>;

    /// The other objects must outlive this one. `runner` is the path of genv-job. Throws JobError
    /// if the database cannot be read.
    Engine(JobStore& store, const Places& places, const TaskScheduler::Buses& buses, sd_event* loop,
           uid_t uid, const std::string& runner, TaskScheduler::Changed changed);
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    [[nodiscard]] bool isUnfinished() const { return book_.isUnfinished(); }
    /// The state of a job; nothing if there is no such job.
    [[nodiscard]] std::optional<JobState> stateOf(JobNumber job) const;

    /// Records a job, and replies with its number once it is on the disk. Throws JobError.
    void submit(Dictionary options, const JobReply& reply);
    // What the user asks for; see Book. They return the number of tasks concerned, and throw
    // JobError.
    std::size_t cancel(JobNumber job, const Numbers& tasks);
    std::size_t hold(JobNumber job, const Numbers& tasks);
    std::size_t release(JobNumber job, const Numbers& tasks);
    std::size_t requeue(JobNumber job, const Numbers& tasks);
    /// Asks genvd for its queue, and then replies with the values that `describe` writes.
    void describe(const JobReply& reply, Describe describe);

  private:
    void record(const Submission& submission, const JobReply& reply);
    void onTurn(const std::set<JobNumber>& added, const std::set<JobNumber>& changed);
    void endLingering();
    [[nodiscard]] WaitingFacts factsWith(RequestWaits queue) const;

    const Places& places_;
    const TaskScheduler::Changed changed_;
    Book book_;
    TaskScheduler scheduler_;
    UserLingering lingering_;
    std::optional<bool> tellsMessages_; ///< whether genv-notify-core runs; unset = not known yet
    Housekeeping housekeeping_;
    Sampler sampler_;
};

} // namespace genv::jobs
