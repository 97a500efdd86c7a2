// SPDX-License-Identifier: LGPL-2.1-or-later
// The first stage for received messages. It keeps an account for each user: the number and bytes of
// calls that were received and not yet started. Calls above the limit are refused (LimitsExceeded).
// The service reads all messages before it processes them, so a call is counted when it arrives and
// not when it would start.
// - The bus is asked once for the owner of a new connection, over a connection of the service's own
//   for such questions: a reply on the main one would come behind every message that the bus has
//   queued for the service. Until the reply arrives, the calls of all such connections share one
//   pool. If it is full, the connection that takes most of it loses
//   its last call, so that the first call of every connection has a place.
// - Calls are started one at a time: in the order of arrival while few are waiting, otherwise one
//   of each user in turn. The number of calls per user and second is limited. The bus is slower
//   than the service and passes on all calls through one queue. Without the limit, a single user
//   could keep the bus busy.
// - Arguments that are too large for any method, or for a user other than root, are refused before
//   they are parsed.
// - Before a call of root that changes something is started, the login user is looked up in /proc,
//   so that the call is also attributed to that user. There is one look-up for each connection.
// Root's calls are not counted. Replies and the bus's own signals pass immediately; other signals
// are dropped. The calls of a connection are dropped when it closes.
#pragma once

#include "core/ports/clock.hpp"
#include "core/ports/log.hpp"
#include "core/ports/processes.hpp"
#include "dbus/calls/callers.hpp"
#include "dbus/contract/raw_bus.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace genv::dbus {

class Intake {
  public:
    /// Handles every message of the connection from now on, and asks the bus about callers over
    /// `questions`. All referenced objects must outlive this one.
    Intake(sdbus::IConnection& connection, sdbus::IConnection& questions, Callers& callers,
           core::Processes& processes, const core::Clock& clock, core::Log& log);
    ~Intake();
    Intake(const Intake&) = delete;
    Intake& operator=(const Intake&) = delete;

    /// Call this before a message is processed.
    void begin() { tookLast_ = false; }
    /// Returns whether the last message was queued, refused or dropped, so that nothing else was
    /// done with it.
    [[nodiscard]] bool tookLast() const { return tookLast_; }

    /// Returns the time until the next call may start; zero if one may start now. Returns nothing
    /// if no call is waiting, and while the bus does not read the service's messages: the
    /// connection reports when it does again.
    [[nodiscard]] std::optional<core::BootTime::duration> untilNext() const;
    /// Starts the next call, if one may start: the connection processes it next. Exits of processes
    /// until now are noticed before.
    void serveNext();
    /// Returns whether the connection has not yet processed the call that was started last.
    [[nodiscard]] bool isServing() const { return served_.has_value(); }

    /// Drops the calls of a closed connection.
    void onDisconnected(const std::string& busName);

  private:
    struct Held {
        raw::Message call;
        std::string sender;
        std::size_t bytes = 0;
        std::uint64_t number = 0; ///< order of arrival
    };
    /// The received calls that were not started, and the error replies to refused ones.
    struct Account {
        std::deque<Held> calls;
        std::size_t bytes = 0;
        std::deque<raw::Message> refusals;
        core::BootTime mayGoOn{}; ///< earliest start of the next call

        [[nodiscard]] bool isEmpty() const { return calls.empty() && refusals.empty(); }
    };
    using Users = std::map<core::Uid, Account>;
    struct Stranger {
        Account account;
        raw::Slot question;
    };

    /// Returns whether the message is not to be processed further now.
    bool take(raw::Message message);
    void takeOfStranger(Held held);
    template <typename Size>
    bool takeFromLargest(Size sizeOf, std::size_t newcomer);
    bool makeRoom(const Account& newcomer, std::size_t bytes);
    void takeOfUser(core::Uid uid, Held held);
    bool ask(Stranger& stranger, const std::string& name);
    void learn(const std::string& name, const std::optional<raw::Credentials>& credentials);
    [[nodiscard]] bool needsLogin(const Held& held) const;
    void lookUpLogin(const std::string& name);
    void admit(const std::string& name, core::Uid uid);
    void forget(const Account& stranger);
    static void refuseLater(Account& account, const raw::Message& call, const char* error,
                            const std::string& text);
    Account& accountOf(core::Uid uid);
    Users::iterator next();
    void serve(Account& account);
    void logFlood(core::Uid uid);

    Callers& callers_;
    core::Processes& processes_;
    const core::Clock& clock_;
    core::Log& log_;
    raw::Bus bus_;
    raw::Bus questions_;
    Users users_;
    core::Uid lastServed_ = 0;
    std::uint64_t lastNumber_ = 0;
    std::map<std::string, Stranger> strangers_; ///< by connection
    std::size_t callsOfStrangers_ = 0;
    std::size_t bytesOfStrangers_ = 0;
    std::optional<raw::Message> served_; ///< no longer waiting; it passes through take() again
    bool tookLast_ = false;
    std::map<core::Uid, core::BootTime> loggedFloods_;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true); ///< false once this object is gone
    raw::Slot slot_; ///< declared last, so that no message arrives after it is destroyed
};

} // namespace genv::dbus
