// SPDX-License-Identifier: LGPL-2.1-or-later
// The attempts of tasks, from the grant to the end: each is recorded, started in its unit, and
// judged by its files once its unit is gone. No attempt runs twice, whatever ends in between: only
// one of the start mark and its revocation succeeds.
#pragma once

#include "client/jobs/daemon/runner.hpp"
#include "client/jobs/daemon/submissions.hpp"
#include "client/jobs/daemon/task_requests.hpp"
#include "client/jobs/daemon/unit_link.hpp"
#include "client/jobs/files/attempt.hpp"
#include "client/jobs/files/places.hpp"
#include "client/jobs/model/book.hpp"
#include "client/loop.hpp"

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace genv::jobs {

class Attempts {
  public:
    struct Listener {
        /// An attempt was not started; its task waits again.
        std::function<void(TaskName, const std::string& reason)> notStarted;
        std::function<void(TaskName)> started;
        /// The unit of an attempt has ended, and its GPUs are free.
        std::function<void()> gone;
    };
    /// What an attempt needs; all outlive it.
    struct Parts {
        Book& book;
        Submissions& submissions;
        const Places& places;
        UnitLink& units;
    };

    Attempts(const Parts& parts, sd_event* loop, Listener listener);
    Attempts(const Attempts&) = delete;
    Attempts& operator=(const Attempts&) = delete;

    /// Starts the next attempt of a task in its environment. Throws JobError, and has then started
    /// nothing.
    void begin(TaskName task, TaskGrant grant);
    /// Ends what runs of a task.
    void stop(TaskName task);

    // What Runner tells.
    void onRunnerEnded(const AttemptName& attempt);

    // What UnitLink tells.
    void onManager();
    void onStarted(const AttemptName& attempt);
    void onGone(const AttemptName& attempt);

  private:
    [[nodiscard]] AttemptOrder orderOf(TaskName task, const GrantedEnvironment& environment);
    [[nodiscard]] bool isOpen(const AttemptName& attempt) const;
    void compare(const std::vector<AttemptName>& open,
                 const std::map<AttemptName, UnitState>& units);
    void judgeStart(const AttemptName& attempt);
    void judge(const AttemptName& attempt);
    void finish(const AttemptName& attempt);
    void removeOldFiles();
    void tidy();
    void writeLater();

    Parts parts_;
    AttemptFiles files_;
    const Listener listener_;
    /// Of attempts without a start mark.
    std::map<AttemptName, std::unique_ptr<Runner>> runners_;
    std::set<AttemptName> finished_; ///< their files are still there
    std::set<AttemptName> unjudged_; ///< their units are gone, and their files cannot be read
    event::Timer again_;
};

} // namespace genv::jobs
