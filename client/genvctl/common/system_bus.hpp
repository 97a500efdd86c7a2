// SPDX-License-Identifier: LGPL-2.1-or-later
// A connection to the system bus for programs that must not wait for it: one deadline applies to
// all calls, and a call starts the service only if it says so.
#pragma once

#include "dbus/contract/names.hpp"

#include <sdbus-c++/sdbus-c++.h>

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

namespace genv::ctl {

/// The bus cannot be reached or does not reply.
class NoBus : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// A call failed. what() is the message from the bus.
class CallFailed : public std::runtime_error {
  public:
    explicit CallFailed(const sdbus::Error& error);
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
    bool startsService = false; ///< whether a call starts the service if it does not run
};

/// The manager object of the service.
inline constexpr BusObject manager{dbus::contract::busName, dbus::contract::managerPath,
                                   "dev.genv.Manager"};

class SystemBus {
  public:
    /// `timeout` applies to all calls together. Throws NoBus.
    explicit SystemBus(std::chrono::milliseconds timeout = std::chrono::seconds{2});

    /// Calls a method and returns its result. Throws CallFailed.
    template <typename Result = void, typename... Arguments>
    Result call(const BusObject& object, const char* method, const Arguments&... arguments) const {
        return translated([&] {
            Call call = prepare(object, method);
            static_cast<void>((call.message << ... << arguments));
            sdbus::MethodReply reply = send(call);
            if constexpr (!std::is_void_v<Result>) {
                Result result{};
                reply >> result;
                return result;
            }
        });
    }
    /// Returns the value of a property. Throws CallFailed.
    template <typename Value>
    [[nodiscard]] Value property(const BusObject& object, const char* name) const {
        const BusObject properties{object.service, object.path, "org.freedesktop.DBus.Properties",
                                   object.startsService};
        return translated([&] {
            return call<sdbus::Variant>(properties, "Get", std::string(object.interface),
                                        std::string(name))
                .template get<Value>();
        });
    }
    /// Throws CallFailed.
    [[nodiscard]] bool hasOwner(const char* name) const;
    /// Whether the bus can start a service of this name. Throws CallFailed.
    [[nodiscard]] bool canStart(const char* name) const;

  private:
    struct Call {
        std::unique_ptr<sdbus::IProxy> proxy;
        sdbus::MethodCall message;
    };

    template <typename Function>
    static auto translated(Function function) {
        try {
            return function();
        } catch (const sdbus::Error& error) {
            throw CallFailed(error);
        }
    }
    [[nodiscard]] Call prepare(const BusObject& object, const char* method) const;
    [[nodiscard]] sdbus::MethodReply send(const Call& call) const;

    std::chrono::steady_clock::time_point deadline_; ///< for all calls
    std::unique_ptr<sdbus::IConnection> connection_;
};

} // namespace genv::ctl
