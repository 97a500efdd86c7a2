// SPDX-License-Identifier: LGPL-2.1-or-later
// What comes in first meets this. The bus hands every call over in one line, so that whoever sends
// most would be served most; here each user gets a line of their own, and the lines take turns:
// - While the service keeps up, calls pass as they come and nobody is asked who they are.
// - Else the bus is asked who is calling, without waiting for its answer, and a call joins its
//   user's line. A line that is full refuses (LimitsExceeded); the lines are
//   served in turn, one call each, and one user's calls stay in their order.
// - Arguments that no method could want are refused before anything is made of them.
// Root's calls, signals and replies pass at once. What a connection left behind when it went is
// dropped.
#pragma once

#include "core/ports/clock.hpp"
#include "core/ports/log.hpp"
#include "dbus/callers.hpp"
#include "dbus/raw_bus.hpp"

#include <sdbus-c++/sdbus-c++.h>
#include <systemd/sd-bus.h>

#include <chrono>
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <unordered_set>

namespace genv::dbus {

class Intake {
  public:
    /// From now on every message of the connection is met. All outlive this.
    Intake(sdbus::IConnection& connection, Callers& callers, const core::Clock& clock,
           core::Log& log);
    ~Intake();
    Intake(const Intake&) = delete;
    Intake& operator=(const Intake&) = delete;

    /// Whether the last message was put into a line or refused, so that nothing was done yet.
    [[nodiscard]] bool keptLast() const { return keptLast_; }
    /// A message is about to be processed.
    void begin() { keptLast_ = false; }

    /// The connection had nothing to read for a moment: the service keeps up.
    void wasIdle() { passed_ = 0; }

    /// Whether a call waits in a line.
    [[nodiscard]] bool isWaiting() const { return !lines_.empty(); }
    /// Whether the bus has taken what was answered so far. It hands on a service's answers in one
    /// line as well, so nothing is done that would make the next answer of another wait long.
    [[nodiscard]] bool isBusFree() const;
    /// Lets the first call of the next line go on, if the bus is free: it is the next that the
    /// connection processes. What was too much is refused along with it, a little at a time.
    void serveNext();

    /// A connection is gone, and what it left in its line with it.
    void left(const std::string& busName);

  private:
    struct Held {
        OwnedMessage message;
        std::string sender;
        std::size_t size = 0;
    };
    struct Line {
        std::deque<Held> calls;
        std::size_t size = 0;            ///< bytes of arguments, about
        std::deque<OwnedMessage> excess; ///< to be refused, as the bus takes it
    };

    /// The calls of a connection while the bus is asked whose it is.
    struct Stranger {
        Intake* intake = nullptr;
        std::string name;
        Line line;
        OwnedSlot question;
    };

    static int onCredentials(sd_bus_message* answer, void* stranger, sd_bus_error* error);
    bool ask(sd_bus_message* message, const std::string& sender, std::size_t size);
    void learn(const std::string& name, sd_bus_message* credentials);
    bool add(Line& line, sd_bus_message* message, std::size_t size);

    static int onMessage(sd_bus_message* message, void* self, sd_bus_error* error);
    /// Whether the message goes no further.
    bool keep(sd_bus_message* message);
    bool isInTime();
    void join(sd_bus_message* message, core::Uid uid, std::size_t size);
    void refuseExcess(sd_bus_message* message);
    void goOn(sd_bus_message* message);
    bool refuse(sd_bus_message* message, const char* error, const std::string& text);
    void tellOfFlood(core::Uid uid);

    Callers& callers_;
    const core::Clock& clock_;
    core::Log& log_;
    sd_bus* bus_ = nullptr;
    std::map<core::Uid, Line> lines_;           ///< a user whose calls are all begun has none
    std::map<std::string, Stranger> strangers_; ///< by connection
    core::Uid lastServed_ = 0;
    std::unordered_set<const sd_bus_message*>
        going_; ///< left their line and come back through here
    bool keptLast_ = false;
    core::BootTime windowEnd_{};
    std::size_t passed_ = 0; ///< calls that were not put in line since it was idle
    std::map<core::Uid, core::BootTime> toldOf_;
    OwnedSlot slot_; ///< last: nothing comes in once it is gone
};

} // namespace genv::dbus
