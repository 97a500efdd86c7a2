// SPDX-License-Identifier: LGPL-2.1-or-later
// Desktop notifications (Desktop Notifications Specification 1.2) over the session bus.
//
// No function blocks. Without a notification server, messages are queued, up to the number that
// fits into a summary. A restarted server does not know the notifications of its predecessor.
// Signals count only if the owner of the server's name sent them.
#pragma once

#include "client/loop.hpp"
#include "client/notify/message.hpp"

#include <systemd/sd-bus.h>

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
        std::function<Message(const Action&, const std::string& subject)> chosen;
        /// Called when there is nothing more to do, with the exit status.
        std::function<void(int status)> ended;
    };

    /// The loop must outlive this object.
    Desktop(sd_event* loop, Listener listener);

    /// Connects to the session bus. Throws std::system_error if there is none.
    void connect();
    /// Shows messages. Each replaces the displayed message of the same subject; many messages at
    /// once become a summary.
    void show(std::vector<Message> messages);

  private:
    struct CloseBus {
        void operator()(sd_bus* bus) const noexcept {
            sd_bus_detach_event(bus);
            sd_bus_close_unref(bus);
        }
    };
    /// A notification that has been sent but not confirmed by the server.
    struct Sending {
        Desktop* desktop = nullptr;
        Message message;
    };
    struct Shown {
        std::string subject;
        std::vector<Action> actions;
    };

    template <void (Desktop::*Handler)(sd_bus_message*)>
    static int handle(sd_bus_message* message, void* desktop, sd_bus_error* error);
    static int handleShown(sd_bus_message* reply, void* sending, sd_bus_error* error);

    void reconnect();
    void onNameRequested(sd_bus_message* reply);
    void onDisconnected(sd_bus_message* signal);
    void onOwnerChanged(sd_bus_message* signal);
    void onCapabilities(sd_bus_message* reply);
    void onClosed(sd_bus_message* signal);
    void onAction(sd_bus_message* signal);
    void onShown(sd_bus_message* reply, Sending& sending);

    void pump();
    void askServer();
    void send(Message message);
    void appendHints(sd_bus_message* call, const Message& message) const;
    void enqueue(Message message);
    void forgetServer();
    [[nodiscard]] bool isFromServer(sd_bus_message* message) const;
    [[nodiscard]] std::string bodyOf(const Message& message) const;

    sd_event* loop_;
    const Listener listener_;
    std::vector<Message> pending_; ///< oldest first, one for each subject
    std::size_t dropped_ = 0;      ///< messages dropped from `pending_` since the last summary
    std::map<std::string, std::unique_ptr<Sending>> sendings_; ///< by subject
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
    std::unique_ptr<sd_bus, CloseBus>
        bus_; ///< declared last, so that no handler runs during destruction
};

} // namespace genv::notify
