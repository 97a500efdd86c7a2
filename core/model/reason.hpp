// SPDX-License-Identifier: LGPL-2.1-or-later
// The reason for a change, and the user who requested it. The texts are a contract: signals, the
// journal and users depend on them.
#pragma once

#include "core/base/process.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace genv::core {

/// Why an environment ended, a device was detached, a process was terminated or a wait ended.
class Reason {
  public:
    static Reason user() { return Reason("user"); }
    static Reason admin() { return Reason("admin"); }
    static Reason processExit() { return Reason("process-exit"); }
    static Reason deviceLost() { return Reason("device-lost"); }
    static Reason expired() { return Reason("expired"); }
    static Reason idle() { return Reason("idle"); }
    /// Slurm gave the device to a job, or ended the job.
    static Reason job() { return Reason("job"); }
    /// The environment was parked, and its processes moved to host memory.
    static Reason parked() { return Reason("parked"); }
    /// A preemptible environment was parked for another request.
    static Reason taken() { return Reason("taken"); }
    /// A preemptible environment was ended for another request, since it could not be parked.
    static Reason preempted() { return Reason("preempted"); }
    // For waits only.
    static Reason timeout() { return Reason("timeout"); }
    static Reason cancelled() { return Reason("cancelled"); }
    static Reason refused() { return Reason("refused"); }
    /// Returns the reason with a text that was stored.
    static Reason stored(std::string text) { return Reason(std::move(text)); }
    static Reason rule(std::string_view name) { return Reason("rule:" + std::string(name)); }

    [[nodiscard]] const std::string& text() const { return text_; }
    friend bool operator==(const Reason&, const Reason&) = default;

  private:
    explicit Reason(std::string text) : text_(std::move(text)) {}
    std::string text_;
};

/// The user who made a request.
struct Actor {
    Uid uid = 0; ///< 0 for the service itself
    /// The user who logged in before acting as root, for example with sudo; unset if there is none,
    /// or if it is not known.
    std::optional<Uid> login = {};

    Actor() = default;
    // Implicit: a user who acts as themselves.
    Actor(Uid user) : uid(user) {}
    Actor(Uid user, std::optional<Uid> loggedIn) : uid(user), login(loggedIn) {}

    friend bool operator==(const Actor&, const Actor&) = default;
    friend bool operator==(const Actor& actor, Uid user) { return actor.uid == user; }
};

/// The cause of a change.
struct Cause {
    Reason reason;
    Actor actor = {};           ///< the user who requested it
    bool endsProcesses = false; ///< whether the compute processes on a detached device are ended

    /// Returns the cause for a request about an environment of `owner`.
    static Cause request(const Actor& actor, Uid owner) {
        return {actor == owner ? Reason::user() : Reason::admin(), actor, actor != owner};
    }
    /// Returns whether the owner should be notified. Owners are not notified of their own requests,
    /// of the exit of their processes, and of each device of an environment that was parked.
    [[nodiscard]] bool isNews() const {
        return reason != Reason::user() && reason != Reason::processExit() &&
               reason != Reason::parked();
    }
    /// Returns the cause for a fact, which nobody requested.
    static Cause fact(Reason reason) { return {std::move(reason)}; }
};

} // namespace genv::core
