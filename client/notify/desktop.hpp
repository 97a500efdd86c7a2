// SPDX-License-Identifier: LGPL-2.1-or-later
// Desktop notifications (Desktop Notifications Specification 1.2) over the session bus.
//
// No function waits for the notification server. Without one, messages are queued, up to the number
// that fits into a summary. A restarted server does not know the notifications of its predecessor.
// Signals count only if the owner of the server's name sent them.
#pragma once

#include "client/loop.hpp"
#include "client/loop_bus.hpp"
#include "client/notify/desktop_notification.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace genv::notify {

class Desktop {
  public:
    struct Listener {
        /// Called when a notification has been closed, whether the user has seen it or not.
        std::function<void(const std::string& subject)> closed;
        /// Called when the user chose an action. The returned message replaces the notification.
        std::function<DesktopNotification(const NotificationAction&, const std::string& subject)>
            chosen;
        /// Called when there is nothing more to do, with the exit status.
        std::function<void(int status)> ended;
    };

    /// The loop must outlive this object.
    Desktop(sd_event* loop, Listener listener);

    /// Connects to the session bus. Throws std::runtime_error without one.
    void connect();
    /// Shows messages. Each replaces the displayed message of the same subject; many messages at
    /// once become a summary.
    void show(std::vector<DesktopNotification> messages);

  private:
    /// A connection to the session bus, and what the loop does with it.
    struct Session {
        explicit Session(sd_event* loop);

        std::unique_ptr<sdbus::IConnection> connection;
        event::LoopBus bus;
    };
    struct Shown {
        std::string subject;
        std::vector<NotificationAction> actions;
    };

    void reconnect();
    void listen();
    void requestName();
    void onNameRequested(const event::BusReply& reply);
    void onDisconnected();
    void onOwnerChanged(sdbus::Message& signal);
    void onCapabilities(const event::BusReply& reply);
    void onClosed(sdbus::Message& signal);
    void onAction(sdbus::Message& signal);
    void onReply(const event::BusReply& reply, const std::string& subject);
    void onShown(DesktopNotification message, std::uint32_t id);

    void pump();
    void askServer();
    void send(DesktopNotification message);
    void enqueue(DesktopNotification message);
    void forgetServer();
    [[nodiscard]] bool isFromServer(const sdbus::Message& message) const;
    [[nodiscard]] std::vector<std::string> buttonsOf(const DesktopNotification& message) const;
    [[nodiscard]] std::string bodyOf(const DesktopNotification& message) const;

    sd_event* loop_;
    const Listener listener_;
    std::vector<DesktopNotification> pending_; ///< oldest first, one for each subject
    std::size_t dropped_ = 0; ///< messages dropped from `pending_` since the last summary
    /// Notifications that have been sent but not confirmed by the server, by subject.
    std::map<std::string, DesktopNotification> sendings_;
    std::map<std::uint32_t, Shown> shown_;
    std::map<std::string, std::uint32_t> ids_; ///< of `shown_`, by subject
    std::string server_;                       ///< its unique name, after its first reply
    std::set<std::string> capabilities_;
    bool isAsking_ = false;
    /// Whether this process owns the bus name, which keeps a second process from showing everything
    /// twice.
    bool isMine_ = false;
    std::optional<std::chrono::steady_clock::time_point> lostSince_;
    event::Backoff backoff_;
    event::Backoff serverBackoff_;
    event::Timer retry_;
    event::Timer retryServer_;
    std::optional<Session> session_; ///< declared last, so that no handler runs during destruction
};

} // namespace genv::notify
