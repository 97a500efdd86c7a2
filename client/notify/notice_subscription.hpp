// SPDX-License-Identifier: LGPL-2.1-or-later
// The connection to the service, which is restored automatically when the system bus is back. The
// notices of a service that starts later are received, but the service is not started for this.
#pragma once

#include "client/loop.hpp"
#include "client/notify/desktop_notification.hpp"
#include "genv/client.hpp"

#include <functional>
#include <optional>

namespace genv::notify {

class NoticeSubscription {
  public:
    /// Passes the service's notices for the user of this process to `handler`. The loop must
    /// outlive this object.
    NoticeSubscription(sd_event* loop, std::function<void(const Notice&)> handler);

    /// Connects. Throws genv::Error if there is no bus.
    void connect();
    /// The same, but retries until there is a bus.
    void connectOrRetry();
    /// Waits until the descriptor is readable or a notice has arrived and was passed on. Returns
    /// false without waiting if there is no connection.
    bool wait(int descriptor);

  private:
    void onNotice(Notice notice);

    std::function<void(const Notice&)> handler_;
    std::optional<Client> client_;
    event::Backoff backoff_;
    bool isLost_ = false; ///< whether the loss of the connection was reported
    event::Timer retry_;
};

/// Performs an action that the user chose, without asking for a password, and returns the result as
/// a message. The call is canceled after a few seconds, and at once when the process must end.
DesktopNotification carryOut(const NotificationAction& action, const std::string& subject);

} // namespace genv::notify
