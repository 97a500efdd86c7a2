// SPDX-License-Identifier: LGPL-2.1-or-later
// The connection to the service, which comes back by itself after the system bus was gone. A
// service that is not running is heard when it starts, and is not started for this.
#pragma once

#include "client/notify/loop.hpp"
#include "client/notify/message.hpp"
#include "genv/client.hpp"

#include <functional>
#include <optional>

namespace genv::notify {

class ServiceLink {
  public:
    /// Tells what the service told the user who runs this. The loop must outlive it.
    ServiceLink(sd_event* loop, std::function<void(const Notice&)> heard);

    /// Connects; throws genv::Error where there is no bus.
    void connect();
    /// The same, and tries again and again where there is none.
    void connectOrRetry();
    /// Waits until the descriptor is readable or something was heard and told. Does not wait where
    /// there is no connection, and then the result is false.
    bool wait(int descriptor);

  private:
    void hear(Notice notice);

    std::function<void(const Notice&)> heard_;
    std::optional<Client> client_;
    Backoff backoff_;
    bool isLost_ = false; ///< and that was said
    Timer retry_;
};

/// Does what a person chose, without asking for a password, and says how that went. It is given up
/// after a few seconds, and at once when the process is told to end.
Message carryOut(const Action& action, const std::string& subject);

} // namespace genv::notify
