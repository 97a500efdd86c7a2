// SPDX-License-Identifier: LGPL-2.1-or-later
// Why something changed, and who did it. The texts are a contract: signals, the journal and people
// read them.
#pragma once

#include "core/process.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace genv::core {

/// Why an environment ended, a device was detached, a process terminated or a wait ended.
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
    // Of waits alone.
    static Reason timeout() { return Reason("timeout"); }
    static Reason cancelled() { return Reason("cancelled"); }
    static Reason refused() { return Reason("refused"); }
    static Reason rule(std::string_view name) { return Reason("rule:" + std::string(name)); }

    [[nodiscard]] const std::string& text() const { return text_; }
    friend bool operator==(const Reason&, const Reason&) = default;

  private:
    explicit Reason(std::string text) : text_(std::move(text)) {}
    std::string text_;
};

/// Who asked for something.
struct Actor {
    Uid uid = 0; ///< the service itself acts as 0
    /// The user who logged in before acting as root, such as by sudo; unset where nobody did, or
    /// that is not known.
    std::optional<Uid> login = {};

    Actor() = default;
    // Implicit: a user who acts as themselves.
    Actor(Uid user) : uid(user) {}
    Actor(Uid user, std::optional<Uid> loggedIn) : uid(user), login(loggedIn) {}

    friend bool operator==(const Actor&, const Actor&) = default;
    friend bool operator==(const Actor& actor, Uid user) { return actor.uid == user; }
};

/// What a change goes back to.
struct Cause {
    Reason reason;
    Actor actor = {};           ///< who asked for it
    bool endsProcesses = false; ///< whether a device that goes takes its compute processes along

    /// A request by somebody about an environment of `owner`.
    static Cause request(const Actor& actor, Uid owner) {
        return {actor == owner ? Reason::user() : Reason::admin(), actor, actor != owner};
    }
    /// Whether it is news to the owner, who neither did it nor ended the processes.
    [[nodiscard]] bool isNews() const {
        return reason != Reason::user() && reason != Reason::processExit();
    }
    /// Something that simply happened.
    static Cause fact(Reason reason) { return {std::move(reason)}; }
};

} // namespace genv::core
