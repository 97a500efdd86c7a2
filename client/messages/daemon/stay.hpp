// SPDX-License-Identifier: LGPL-2.1-or-later
// The user's manager, and so this program, may last only because genv-jobs made its user linger.
// genv-jobs leaves the end of that to this program, so that the message about the last job is still
// sent.
#pragma once

#include "client/jobs/daemon/user_lingering.hpp"
#include "client/jobs/files/places.hpp"
#include "client/loop.hpp"
#include "client/loop_bus.hpp"

namespace genv::messages {

class Stay {
  public:
    /// `bus` is the system bus. It and the loop must outlive this object.
    Stay(const event::LoopBus& bus, sd_event* loop, const jobs::Places& places);
    Stay(const Stay&) = delete;
    Stay& operator=(const Stay&) = delete;

    /// Says whether messages wait, and that something has happened.
    void update(bool isBusy);

  private:
    void onCalm();
    [[nodiscard]] bool isUnfinished() const;

    const std::filesystem::path unfinished_; ///< exists while a job waits or runs
    jobs::UserLingering lingering_;
    bool isReleased_ = false;
    event::Timer calm_;
};

} // namespace genv::messages
