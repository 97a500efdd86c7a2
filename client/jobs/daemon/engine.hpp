// SPDX-License-Identifier: LGPL-2.1-or-later
// What the calls of dev.genv.Jobs do, once the database is open: the parts of genv-jobs together.
#pragma once

#include "client/jobs/daemon/descriptions.hpp"
#include "client/jobs/daemon/errors.hpp"
#include "client/jobs/daemon/housekeeping.hpp"
#include "client/jobs/daemon/lingering.hpp"
#include "client/jobs/daemon/request.hpp"
#include "client/jobs/daemon/sampler.hpp"
#include "client/jobs/daemon/scheduler.hpp"
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

    /// The other objects must outlive this one. `runner` is the path of genv-job. Throws Error if
    /// the database cannot be read.
    Engine(Store& store, const Places& places, const Scheduler::Buses& buses, sd_event* loop,
           uid_t uid, const std::string& runner, Scheduler::Changed changed);
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    [[nodiscard]] bool isUnfinished() const { return book_.isUnfinished(); }
    /// The state of a job; nothing if there is no such job.
    [[nodiscard]] std::optional<JobState> stateOf(JobNumber job) const;

    /// Records a job, and replies with its number once it is on the disk. Throws Error.
    void submit(Dictionary options, const Reply& reply);
    // What the user asks for; see Book. They return the number of tasks concerned, and throw Error.
    std::size_t cancel(JobNumber job, const Numbers& tasks);
    std::size_t hold(JobNumber job, const Numbers& tasks);
    std::size_t release(JobNumber job, const Numbers& tasks);
    std::size_t requeue(JobNumber job, const Numbers& tasks);
    /// Asks genvd for its queue, and then replies with the values that `describe` writes.
    void describe(const Reply& reply, Describe describe);

  private:
    void record(const Submission& submission, const Reply& reply);
    void onTurn(const std::set<JobNumber>& added, const std::set<JobNumber>& changed);
    [[nodiscard]] WaitingFacts factsWith(Queue queue) const;

    const Places& places_;
    const Scheduler::Changed changed_;
    Book book_;
    Scheduler scheduler_;
    Lingering lingering_;
    Housekeeping housekeeping_;
    Sampler sampler_;
};

} // namespace genv::jobs
