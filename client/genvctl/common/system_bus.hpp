// SPDX-License-Identifier: LGPL-2.1-or-later
// A connection to the system bus with sd-bus, which starts faster than the library. One deadline
// applies to all calls, and a call starts the service only if it says so.
#pragma once

#include "dbus/contract/names.hpp"

#include <systemd/sd-bus.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace genv::ctl {

/// The bus cannot be reached or does not reply.
class NoBus : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// A call failed. what() is the message from the bus.
class CallFailed : public std::runtime_error {
  public:
    CallFailed(std::string name, const std::string& message)
        : std::runtime_error(message), name_(std::move(name)) {}
    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    /// Whether the call timed out.
    [[nodiscard]] bool isLate() const;

  private:
    std::string name_;
};

/// An object and one of its interfaces.
struct BusObject {
    const char* service;
    const char* path;
    const char* interface;
};

/// The manager object of the service.
inline constexpr BusObject manager{dbus::contract::busName, dbus::contract::managerPath,
                                   "dev.genv.Manager"};

class SystemBus {
  public:
    struct Unref {
        void operator()(sd_bus* bus) const { sd_bus_close_unref(bus); }
        void operator()(sd_bus_message* message) const { sd_bus_message_unref(message); }
    };
    using Message = std::unique_ptr<sd_bus_message, Unref>;

    /// `timeout` applies to all calls together. Throws NoBus.
    explicit SystemBus(std::chrono::milliseconds timeout = std::chrono::seconds{2});

    /// Creates a call without arguments for send(). Throws CallFailed.
    [[nodiscard]] Message prepare(const BusObject& object, const char* method,
                                  bool start = false) const;
    /// Throws CallFailed.
    [[nodiscard]] Message send(const Message& call) const;

    /// Throws CallFailed. If `argument` is not null, it is the only argument of the call.
    [[nodiscard]] Message call(const BusObject& object, const char* method,
                               const char* argument = nullptr, bool start = false) const;
    /// Throws CallFailed.
    [[nodiscard]] std::string text(const BusObject& object, const char* property) const;
    [[nodiscard]] std::vector<std::string> texts(const BusObject& object,
                                                 const char* property) const;
    [[nodiscard]] std::int32_t number(const BusObject& object, const char* property) const;
    [[nodiscard]] std::uint32_t count(const BusObject& object, const char* property) const;
    /// Returns 0 if the object lacks the property. Throws CallFailed for other failures.
    [[nodiscard]] std::uint64_t amount(const BusObject& object, const char* property) const;
    [[nodiscard]] bool hasOwner(const char* name) const;
    /// Whether the bus can start a service of this name.
    [[nodiscard]] bool canStart(const char* name) const;

  private:
    [[nodiscard]] std::uint64_t remainingTime() const;
    [[nodiscard]] Message property(const BusObject& object, const char* name,
                                   const char* type) const;

    std::uint64_t deadline_; ///< for all calls, in µs of the monotonic clock
    std::unique_ptr<sd_bus, Unref> bus_;
};

} // namespace genv::ctl
