// SPDX-License-Identifier: LGPL-2.1-or-later
// The desktop's notifications (Desktop Notifications Specification 1.2), over the session bus.
//
// Nothing here blocks. Where there is no notification server, messages wait for one, as few as fit
// into a summary; a server that comes again knows none of the notifications of the one before. Only
// what the owner of the server's name says of notifications is believed.
#pragma once

#include "client/notify/loop.hpp"
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
        /// A notification is gone, and whoever it was for has seen it or will not.
        std::function<void(const std::string& subject)> closed;
        /// A person chose an action; the answer takes the notification's place.
        std::function<Message(const Action&, const std::string& subject)> chosen;
        /// There is nothing more to do here, with this exit status.
        std::function<void(int status)> ended;
    };

    /// The loop must outlive it.
    Desktop(sd_event* loop, Listener listener);

    /// Connects to the session bus; throws std::system_error where there is none.
    void connect();
    /// Shows messages, each in place of the one of its subject that is still there; of many at once
    /// a summary.
    void show(std::vector<Message> messages);

  private:
    struct CloseBus {
        void operator()(sd_bus* bus) const noexcept {
            sd_bus_detach_event(bus);
            sd_bus_close_unref(bus);
        }
    };
    /// A notification on its way to the server.
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
    std::vector<Message> pending_; ///< oldest first, one of a subject
    std::size_t dropped_ = 0;      ///< of those, since the last that was shown
    std::map<std::string, std::unique_ptr<Sending>> sendings_; ///< by subject
    std::map<std::uint32_t, Shown> shown_;
    std::map<std::string, std::uint32_t> ids_; ///< of `shown_`, by subject
    std::string server_;                       ///< its unique name, once it has answered
    std::set<std::string> capabilities_;
    bool isAsking_ = false;
    bool isMine_ = false; ///< the name that keeps a second one from showing everything twice
    std::optional<std::chrono::steady_clock::time_point> lostSince_;
    Backoff backoff_;
    Backoff serverBackoff_;
    Timer retry_;
    Timer retryServer_;
    std::unique_ptr<sd_bus, CloseBus>
        bus_; ///< last, so that nothing is heard any more when it goes
};

} // namespace genv::notify
