// SPDX-License-Identifier: LGPL-2.1-or-later
// Which waiting tasks are next. An index over the jobs, so that neither an event nor a question
// looks at thousands of tasks that wait for others.
#pragma once

#include "client/jobs/model/job.hpp"
#include "client/jobs/model/number_set.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace genv::jobs {

class RequestTurns {
  public:
    explicit RequestTurns(std::size_t maxRequests) : maxRequests_(maxRequests) {}

    /// The job must stay where it is until it is removed.
    void add(const Job& job);
    void remove(const Job& job);
    /// Must be called after each change of a task.
    void update(const Job& job, const Task& task);
    /// Whether the dependencies of a job are met; at first they are.
    void setFree(const Job& job, bool isFree);

    // See Book.
    [[nodiscard]] std::vector<TaskName> wanted(const std::set<TaskName>& requested,
                                               core::WallTime now,
                                               const std::set<TaskName>& delayed);
    [[nodiscard]] std::optional<core::WallTime> nextBegin(core::WallTime now) const;
    [[nodiscard]] bool isFree(JobNumber job) const;
    [[nodiscard]] static bool isFull(const Job& job);

  private:
    struct Entry {
        const Job* job = nullptr;
        NumberSet idle; ///< indices of tasks that wait and are not held
        bool isFree = true;
    };
    /// Jobs in the order of their turns.
    struct Turn {
        std::int64_t order = 0; ///< the negative priority
        JobNumber job = 0;

        auto operator<=>(const Turn&) const = default;
    };
    class Choice;

    [[nodiscard]] static Turn turnOf(const Job& job);
    void list(const Entry& entry);
    void moveClock(core::WallTime now);

    std::size_t maxRequests_;
    std::map<JobNumber, Entry> entries_;
    /// Jobs with idle tasks whose dependencies are met, and whose begin has come by clock_.
    std::set<Turn> ready_;
    /// Those of them that have a begin, also when it has not come.
    std::set<std::pair<core::WallTime, JobNumber>> begins_;
    core::WallTime clock_ = core::WallTime::min();
};

} // namespace genv::jobs
