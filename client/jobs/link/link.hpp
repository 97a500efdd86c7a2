// SPDX-License-Identifier: LGPL-2.1-or-later
// The client of genv-jobs: calls of dev.genv.Jobs on the user's bus, and its signals. The first
// call starts genv-jobs. A call blocks until its answer, without a time-out.
#pragma once

#include "client/jobs/link/reported_jobs.hpp"
#include "client/jobs/link/submitted_job.hpp"

#include <sdbus-c++/sdbus-c++.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace genv::jobs {

/// Every function throws Unavailable if genv-jobs cannot be reached, and genv::Error with the name
/// of the D-Bus error if it refuses the call.
class Link {
  public:
    enum class Use {
        Command,
        Completion, ///< calls do not start genv-jobs, and fail after a second
        /// The same, on any thread: only DBUS_SESSION_BUS_ADDRESS is tried; see nameUserBus().
        Watch,
    };

    /// Connects to the user's bus.
    explicit Link(Use use = Use::Command);
    Link(const Link&) = delete;
    Link& operator=(const Link&) = delete;
    ~Link();

    /// Whether genv-jobs runs.
    [[nodiscard]] bool isRunning();
    Submitted submit(const NewJob& job);
    /// Without `all`, lists the jobs that wait or run and those that ended within a day.
    std::vector<JobRow> list(bool all);
    JobDescription get(JobNumber job);
    /// Without numbers, describes all tasks.
    std::vector<TaskRow> tasks(JobNumber job, const std::vector<std::uint32_t>& numbers = {});

    /// Return how many tasks the request concerned. Without numbers, it is about all tasks.
    std::uint32_t cancel(JobNumber job, const std::vector<std::uint32_t>& tasks);
    std::uint32_t hold(JobNumber job, const std::vector<std::uint32_t>& tasks);
    std::uint32_t release(JobNumber job, const std::vector<std::uint32_t>& tasks);
    std::uint32_t requeue(JobNumber job, const std::vector<std::uint32_t>& tasks);

    /// Listens for changes from now on: call it before asking for the state that may change.
    void listen();
    /// Blocks until jobs changed, `watched` is readable (-1 = none), or for so long. Returns the
    /// jobs that changed; `all` is set if genv-jobs started anew, and any may have.
    struct Changes {
        std::set<JobNumber> jobs;
        bool all = false;
    };
    Changes await(int watched = -1, std::optional<std::chrono::milliseconds> timeout = {});

  private:
    using Write = std::function<void(dbus::raw::Writer&)>;
    sdbus::MethodReply call(const char* method, const Write& write);
    std::uint32_t change(const char* method, JobNumber job,
                         const std::vector<std::uint32_t>& tasks);
    void handleArrived();

    std::unique_ptr<sdbus::IConnection> bus_;
    std::unique_ptr<sdbus::IProxy> proxy_;
    Use use_;
    Changes changes_;
    std::vector<sdbus::Slot> matches_; // end before the connection
};

} // namespace genv::jobs
