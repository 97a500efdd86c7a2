// SPDX-License-Identifier: LGPL-2.1-or-later
// The system bus by sd-bus, which starts faster than the library: no call waits past one deadline,
// and none starts a service unless it says so.
#pragma once

#include "dbus/contract/names.hpp"

#include <systemd/sd-bus.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

namespace genv::ctl {

/// The bus cannot be reached, or does not answer.
class NoBus : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// A call failed. what() is the bus's own sentence.
class CallFailed : public std::runtime_error {
  public:
    CallFailed(std::string name, const std::string& message)
        : std::runtime_error(message), name_(std::move(name)) {}
    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    /// Whether no answer came in time.
    [[nodiscard]] bool isLate() const;

  private:
    std::string name_;
};

/// An object and an interface of it.
struct BusObject {
    const char* service;
    const char* path;
    const char* interface;
};

/// The service's.
inline constexpr BusObject manager{dbus::contract::busName, dbus::contract::managerPath,
                                   "dev.genv.Manager"};

class SystemBus {
  public:
    struct Unref {
        void operator()(sd_bus* bus) const { sd_bus_close_unref(bus); }
        void operator()(sd_bus_message* message) const { sd_bus_message_unref(message); }
    };
    using Message = std::unique_ptr<sd_bus_message, Unref>;

    /// `timeout` is for everything together. Throws NoBus.
    explicit SystemBus(std::chrono::milliseconds timeout = std::chrono::seconds{2});

    /// A call without arguments yet, for send(). Throws CallFailed.
    [[nodiscard]] Message prepare(const BusObject& object, const char* method,
                                  bool start = false) const;
    /// Throws CallFailed.
    [[nodiscard]] Message send(const Message& call) const;

    /// Throws CallFailed. `argument`, where it is not null, is the call's only one.
    [[nodiscard]] Message call(const BusObject& object, const char* method,
                               const char* argument = nullptr, bool start = false) const;
    /// Throws CallFailed.
    [[nodiscard]] std::string text(const BusObject& object, const char* property) const;
    [[nodiscard]] std::int32_t number(const BusObject& object, const char* property) const;
    [[nodiscard]] bool hasOwner(const char* name) const;
    /// Whether the bus could start a service of this name.
    [[nodiscard]] bool canStart(const char* name) const;

  private:
    [[nodiscard]] std::uint64_t timeLeft() const;
    [[nodiscard]] Message property(const BusObject& object, const char* name,
                                   const char* type) const;

    std::uint64_t deadline_; ///< of everything, in µs of the monotonic clock
    std::unique_ptr<sd_bus, Unref> bus_;
};

} // namespace genv::ctl
