// SPDX-License-Identifier: LGPL-2.1-or-later
// What comes in first meets this. It keeps accounts: a user has so many calls, of so many bytes,
// that came in and are not begun; one too many is refused (LimitsExceeded). The service reads
// before it works, so that a call is counted when it comes and not when it would be begun.
// - The bus is asked, once, who a new connection is. Until it has said so the connection's calls
//   count for all such connections together.
// - Calls are begun one at a time: in the order in which they came while few wait, else one of each
//   user in turn. Of one user only so many are begun in a second. The bus is slower than the
//   service: a user who was answered at any rate would keep it busy with nothing else, since it
//   hands all calls over in one queue.
// - Arguments that no method could want are refused before anything is made of them.
// - Before a call of root's that changes something is begun, /proc is asked who logged in: such a
//   call is told as theirs, too. That is asked once for each connection.
// Root's calls are not counted. Replies and the bus's own signals pass at once, and others' signals
// are dropped. What a connection left behind when it went is dropped, too.
#pragma once

#include "core/ports/clock.hpp"
#include "core/ports/log.hpp"
#include "core/ports/processes.hpp"
#include "dbus/callers.hpp"
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
    /// From now on every message of the connection is met. All outlive this.
    Intake(sdbus::IConnection& connection, Callers& callers, core::Processes& processes,
           const core::Clock& clock, core::Log& log);
    ~Intake();
    Intake(const Intake&) = delete;
    Intake& operator=(const Intake&) = delete;

    /// A message is about to be processed.
    void begin() { tookLast_ = false; }
    /// Whether the last message is waiting, refused or dropped, so that nothing was done yet.
    [[nodiscard]] bool tookLast() const { return tookLast_; }

    /// How long until a call may go on; zero where one may now. Nothing where none waits, and
    /// while the bus does not read what it was sent: the connection says when it does again.
    [[nodiscard]] std::optional<core::BootTime::duration> untilNext() const;
    /// Lets the next call go on, where one may: the connection processes it next.
    void serveNext();
    /// Whether the connection has yet to process the call that went on last.
    [[nodiscard]] bool isServing() const { return served_.has_value(); }

    /// A connection is gone, and what it left here with it.
    void left(const std::string& busName);

  private:
    struct Held {
        raw::Message call;
        std::string sender;
        std::size_t bytes = 0;
        std::uint64_t number = 0; ///< in the order in which calls came
    };
    /// Calls that came in and are not begun, and answers to those that were too many.
    struct Account {
        std::deque<Held> calls;
        std::size_t bytes = 0;
        std::deque<raw::Message> refusals;
        core::BootTime mayGoOn{}; ///< from when on the next call may be begun

        [[nodiscard]] bool isEmpty() const { return calls.empty() && refusals.empty(); }
    };
    using Users = std::map<core::Uid, Account>;
    struct Stranger {
        Account account;
        raw::Slot question;
    };

    /// Whether the message goes no further.
    bool take(raw::Message message);
    void takeOfStranger(Held held);
    void takeOfUser(core::Uid uid, Held held);
    bool ask(Stranger& stranger, const std::string& name);
    void learn(const std::string& name, const std::optional<raw::Credentials>& credentials);
    [[nodiscard]] bool needsLogin(const Held& held) const;
    void lookUpLogin(const std::string& name);
    void admit(const std::string& name, core::Uid uid);
    void forget(const Account& stranger);
    static void refuseLater(Account& account, const raw::Message& call, const std::string& text);
    Account& accountOf(core::Uid uid);
    Users::iterator next();
    void serve(Account& account);
    void tellOfFlood(core::Uid uid);

    Callers& callers_;
    core::Processes& processes_;
    const core::Clock& clock_;
    core::Log& log_;
    raw::Bus bus_;
    Users users_;
    core::Uid lastServed_ = 0;
    std::uint64_t lastNumber_ = 0;
    std::map<std::string, Stranger> strangers_; ///< by connection
    std::size_t callsOfStrangers_ = 0;
    std::size_t bytesOfStrangers_ = 0;
    std::optional<raw::Message> served_; ///< waits no more and comes back through here
    bool tookLast_ = false;
    std::map<core::Uid, core::BootTime> toldOf_;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true); ///< false once this is gone
    raw::Slot slot_; ///< last: nothing comes in once it is gone
};

} // namespace genv::dbus
