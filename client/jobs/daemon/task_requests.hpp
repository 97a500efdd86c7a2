// SPDX-License-Identifier: LGPL-2.1-or-later
// The requests of tasks in genvd's queue, from the call of Activate to the grant. Each waits for as
// long as it takes: after a restart of genvd it is made again, with the same id, so that genvd
// gives it its old place. A request that is refused for now is tried again later.
#pragma once

#include "client/jobs/daemon/runner.hpp"
#include "client/jobs/daemon/service_link.hpp"
#include "client/jobs/model/job.hpp"
#include "client/loop.hpp"

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace genv::jobs {

/// What a task asks genvd for.
struct Wanted {
    Dictionary options; ///< those that choose the GPUs
    std::uint32_t gpus = 0;
    std::uint32_t attempt = 1; ///< number of the attempt that a grant would begin
    bool isArray = false;
    std::string name; ///< of the job
    std::int32_t priority = 0;
};

/// The devices of a task, as long as its runner lives.
struct TaskGrant {
    GrantedEnvironment environment;
    std::unique_ptr<Runner> runner;
};

class Requests {
  public:
    struct Listener {
        std::function<void(TaskName, TaskGrant)> granted;
        /// genvd refuses the request for good.
        std::function<void(TaskName, const std::string& reason)> refused;
        /// There is room for another request, or one may be tried again.
        std::function<void()> changed;
    };

    /// The other objects must outlive this one.
    Requests(ServiceLink& service, sd_event* loop, uid_t uid, Listener listener);
    Requests(const Requests&) = delete;
    Requests& operator=(const Requests&) = delete;

    /// Makes the request of a task that has none, once its runner is ready.
    void open(TaskName task, Wanted wanted, std::unique_ptr<Runner> runner);
    /// Takes the request of a task back, if it has one.
    void withdraw(TaskName task);
    /// The tasks that have a request.
    [[nodiscard]] std::set<TaskName> tasks() const;
    /// The number of requests that genvd may have, also of those taken back.
    [[nodiscard]] std::size_t count() const { return requests_.size() + withdrawn_.size(); }
    /// The environment of a request; "" if the task has none.
    [[nodiscard]] std::string environmentOf(TaskName task) const;

    /// Keeps a task from making a request for a time that grows with each call.
    void delay(TaskName task, const std::string& reason);
    /// The task has run: the next delay is short again.
    void settle(TaskName task) { delays_.erase(task); }
    /// Something was given back, so that requests that exceeded a quota may succeed now.
    void retryQuota();
    /// The tasks that are delayed, with the reasons.
    [[nodiscard]] std::map<TaskName, std::string> delayed() const;

    /// genvd has come, or gone.
    void onService(bool isThere);
    /// The runner of a request is ready.
    void onReady(const AttemptName& attempt);
    /// It has ended, or cannot be started.
    void onEnded(const AttemptName& attempt, const std::string& why);

  private:
    using Clock = std::chrono::steady_clock;
    using Answer = ServiceLink::Answer;

    struct Request {
        std::uint64_t opened = 0; ///< its place among the requests
        std::uint64_t serial = 0; ///< of its last call
        Wanted wanted;
        std::string environment;
        std::unique_ptr<Runner> runner;
        bool isSent = false;
    };
    struct Delay {
        Clock::time_point until;
        std::string reason;
        unsigned count = 0;
        bool isQuota = false;
    };

    void send(TaskName task, Request& request);
    void sendReady();
    [[nodiscard]] Request* find(TaskName task, std::uint64_t serial);
    [[nodiscard]] Request* find(const AttemptName& attempt);
    void onAnswer(TaskName task, std::uint64_t serial, const Answer& answer);
    void onFailure(TaskName task, Request& request, const Answer& answer);
    [[nodiscard]] bool isDeniedAgain(TaskName task, const Answer& answer) const;
    void refuse(TaskName task, const std::string& reason);
    void onGranted(TaskName task, std::uint64_t serial, const Answer& answer,
                   const GrantedEnvironment& environment);
    void postpone(TaskName task, std::chrono::milliseconds delay, const std::string& reason,
                  bool isQuota);
    void setDelayTimer();
    [[nodiscard]] Dictionary optionsOf(TaskName task, const Request& request) const;

    ServiceLink& service_;
    const uid_t uid_;
    const Listener listener_;
    std::uint64_t lastOpened_ = 0;
    std::uint64_t lastSerial_ = 0;
    std::map<TaskName, Request> requests_;
    std::set<std::uint64_t> withdrawn_; ///< calls whose answers are still to come
    std::map<TaskName, Delay> delays_;
    event::Timer resend_;
    event::Timer delayTimer_;
};

} // namespace genv::jobs
