// SPDX-License-Identifier: LGPL-2.1-or-later
// Jobs live as long as the user's manager, which ends at the logout unless the user lingers. So
// genv-jobs asks logind for that at a submission, and takes it back after the last job. A file
// remembers that it was genv-jobs.
#pragma once

#include "client/loop_bus.hpp"

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>

namespace genv::jobs {

class UserLingering {
  public:
    /// What the user should know.
    enum class Note : std::uint8_t {
        None,
        Enabled, ///< the jobs would have ended at the logout, and now do not
        Refused, ///< they will end at the logout
    };
    using Handler = std::function<void(Note)>;

    /// `bus` is the system bus. `mark` is the file.
    UserLingering(const event::LoopBus& bus, uid_t uid, std::filesystem::path mark);
    UserLingering(const UserLingering&) = delete;
    UserLingering& operator=(const UserLingering&) = delete;

    /// Makes sure that the jobs last over a logout, as far as that is allowed. Without logind there
    /// is nothing to do.
    void ensure(Handler handler);
    /// All jobs have ended: takes back what ensure() changed.
    void release();

  private:
    using Clock = std::chrono::steady_clock;

    void onUser(const event::BusReply& reply, const Handler& handler);
    void enable(const Handler& handler);
    void onReleased(const event::BusReply& reply);
    void remember(Note note);
    [[nodiscard]] sdbus::MethodCall setLinger(bool lingers) const;

    const event::LoopBus& bus_;
    const uid_t uid_;
    const std::filesystem::path mark_;
    bool isNeeded_ = false;   ///< ensure() was called after release()
    bool isEnabling_ = false; ///< logind is asked to, and has not answered
    bool isReleasing_ = false;
    Note known_ = Note::None; ///< the answer of logind, to many submissions in a row
    Clock::time_point knownUntil_{};
};

} // namespace genv::jobs
