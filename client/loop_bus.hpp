// SPDX-License-Identifier: LGPL-2.1-or-later
// Calls and signals on a connection that the loop drives. Calls are asynchronous, with a handler
// for the reply, because many of them wait at once, each for hours.
#pragma once

#include "dbus/contract/raw_bus.hpp"
#include "dbus/contract/sdbus_compat.hpp"

#include <systemd/sd-event.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace genv::event {

/// The reply to a call, valid while its handler runs.
class BusReply {
  public:
    /// `error` is null if the call succeeded.
    BusReply(sdbus::Message& message, const sdbus::Error* error)
        : message_(message), error_(error) {}

    [[nodiscard]] bool isError() const noexcept { return error_ != nullptr; }
    [[nodiscard]] bool isError(std::string_view name) const { return errorName() == name; }
    /// Whether the called program ended, or never was there: it may have had the call.
    [[nodiscard]] bool isLost() const;
    [[nodiscard]] std::string_view errorName() const;
    /// The text of the error, to be shown.
    [[nodiscard]] std::string errorText() const;
    /// The message from which the result is read. Not for errors.
    [[nodiscard]] sdbus::Message& message() const noexcept { return message_; }

  private:
    sdbus::Message& message_;
    const sdbus::Error* error_;
};

/// What happens to the loop when the connection ends.
enum class AtDisconnect { EndLoop, KeepLoop };

class LoopBus {
  public:
    static constexpr std::chrono::microseconds endless = std::chrono::microseconds::max();

    using ReplyHandler = std::function<void(const BusReply&)>;
    using SignalHandler = std::function<void(sdbus::Message&)>;

    /// Lets the loop drive the connection. By default, the loop ends with the connection, with a
    /// failure status. Both must outlive this object. Throws sdbus::Error, as the other functions
    /// do.
    LoopBus(sdbus::IConnection& connection, sd_event* loop,
            AtDisconnect atDisconnect = AtDisconnect::EndLoop);
    LoopBus(const LoopBus&) = delete;
    LoopBus& operator=(const LoopBus&) = delete;
    ~LoopBus();

    /// Makes a call without sending it.
    [[nodiscard]] sdbus::MethodCall call(const std::string& destination, const std::string& path,
                                         const char* interface, const char* member) const;
    /// Makes a call to the bus itself.
    [[nodiscard]] sdbus::MethodCall callBus(const char* member) const;
    /// Sends a call. The handler runs once, with the reply or an error, unless this object ends
    /// first. An exception of the handler is logged.
    void send(const sdbus::MethodCall& call, std::chrono::microseconds timeout,
              ReplyHandler handler) const;
    /// Runs a handler for the signals that match a rule, as long as this object exists.
    void listen(const std::string& rule, SignalHandler handler) const;
    /// Watches who owns a name: the handler gets the unique name of its owner, now and at each
    /// change; "" while nobody owns it.
    void watchName(const std::string& name,
                   const std::function<void(const std::string&)>& handler) const;

  private:
    sdbus::IConnection& connection_;
    dbus::raw::Bus bus_;
    std::unique_ptr<sdbus::IProxy> sender_;    ///< sends all calls, whatever their destination
    mutable std::vector<sdbus::Slot> matches_; ///< of listen(), which changes nothing else
};

} // namespace genv::event
