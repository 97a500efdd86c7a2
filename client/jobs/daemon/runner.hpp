// SPDX-License-Identifier: LGPL-2.1-or-later
// A genv-job in a unit of its own, from before the request for its GPUs until it has made its start
// mark. It is the first root process of the environment: when it ends, so does a wait, or an
// environment that is not used. It ends with this object, and with genv-jobs, unless it has begun.
#pragma once

#include "client/descriptor_functions.hpp"
#include "client/jobs/files/runner_channel.hpp"
#include "client/jobs/model/job.hpp"
#include "client/loop.hpp"

#include <functional>

namespace genv::jobs {

/// Why an attempt whose unit ended early has not run.
inline constexpr const char* endedEarly = "its unit ended before the command started "
                                          "(\"journalctl --user -t genv-job\" says more)";

class Runner {
  public:
    /// Any of these may destroy the object.
    struct Listener {
        /// It can be registered with an environment.
        std::function<void(const AttemptName&)> ready;
        /// It has made its start mark.
        std::function<void(const AttemptName&)> started;
        /// It has ended without that.
        std::function<void(const AttemptName&)> ended;
    };

    /// The other end of the channel is the standard input of the unit. The loop and the listener
    /// must outlive this object. Throws std::system_error.
    Runner(sd_event* loop, AttemptName attempt, RunnerChannel channel, const Listener& listener);
    Runner(const Runner&) = delete;
    Runner& operator=(const Runner&) = delete;

    /// A pidfd of the process; -1 until it is ready.
    [[nodiscard]] int process() const { return process_.isOpen() ? process_.get() : -1; }
    /// Lets it run its attempt. Returns false if it has ended.
    [[nodiscard]] bool start() const { return channel_.send(RunnerWord::Start); }

  private:
    static int onMessage(sd_event_source* source, int socket, std::uint32_t events, void* runner);
    void receive();

    const AttemptName attempt_;
    RunnerChannel channel_;
    const Listener& listener_;
    client::Descriptor process_;
    event::EventSource source_;
};

} // namespace genv::jobs
