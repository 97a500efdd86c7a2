// SPDX-License-Identifier: LGPL-2.1-or-later
// The calls that genv-jobs makes, on a connection that the loop drives: asynchronous, with a
// handler for the reply. sd-bus(3) is used directly, because many calls wait at once, each for
// hours.
#pragma once

#include "dbus/contract/raw_bus.hpp"

#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace genv::jobs {

/// The reply to a call, valid while its handler runs.
class BusReply {
  public:
    explicit BusReply(sd_bus_message* message) : message_(message) {}

    [[nodiscard]] bool isError() const;
    [[nodiscard]] bool isError(std::string_view name) const;
    /// Whether the called program ended, or never was there: it may have had the call.
    [[nodiscard]] bool isLost() const;
    [[nodiscard]] std::string_view errorName() const;
    /// The text of the error, to be shown.
    [[nodiscard]] std::string errorText() const;
    [[nodiscard]] sd_bus_message* message() const noexcept { return message_; }

  private:
    sd_bus_message* message_;
};

class Bus {
  public:
    static constexpr std::chrono::microseconds endless = std::chrono::microseconds::max();

    using Call = dbus::raw::Reference;
    using ReplyHandler = std::function<void(const BusReply&)>;
    using SignalHandler = std::function<void(sd_bus_message*)>;

    /// Lets the loop drive the connection. If the connection ends, so does the loop, with a failure
    /// status. Both must outlive this object. Throws std::system_error.
    Bus(sdbus::IConnection& connection, sd_event* loop);
    Bus(const Bus&) = delete;
    Bus& operator=(const Bus&) = delete;
    ~Bus();

    /// Makes a call without sending it. Throws std::system_error, as the other functions do.
    [[nodiscard]] Call call(const std::string& destination, const std::string& path,
                            const char* interface, const char* member) const;
    /// Sends a call. The handler runs once, with the reply or an error, unless this object ends
    /// first. An exception of the handler is logged.
    void send(const Call& call, std::chrono::microseconds timeout, ReplyHandler handler) const;
    /// Runs a handler for the signals that match a rule, as long as this object exists.
    void listen(const std::string& rule, SignalHandler handler) const;
    /// Watches who owns a name: the handler gets the unique name of its owner, now and at each
    /// change; "" while nobody owns it.
    void watchName(const std::string& name,
                   const std::function<void(const std::string&)>& handler) const;

    [[nodiscard]] sd_bus* get() const noexcept { return bus_; }

  private:
    sd_bus* bus_;
};

} // namespace genv::jobs
