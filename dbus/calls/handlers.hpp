// SPDX-License-Identifier: LGPL-2.1-or-later
// How a method handler begins. The row of its method in the authorization table is looked up at
// compile time, so a method without a row does not build. The caller is identified first. Every
// exception becomes an error reply.
#pragma once

#include "dbus/calls/bus_context.hpp"
#include "dbus/calls/paths.hpp"
#include "dbus/contract/raw_bus.hpp"

#include <sdbus-c++/sdbus-c++.h>

#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

namespace genv::dbus {

/// A string literal as a template argument.
template <std::size_t size>
struct Literal {
    char text[size]{};
    // Implicit, so that handle<"...", "..."> can be written directly.
    consteval Literal(const char (&literal)[size]) {
        for (std::size_t i = 0; i < size; ++i)
            text[i] = literal[i];
    }
    [[nodiscard]] constexpr std::string_view view() const { return {text, size - 1}; }
};

/// Begins the handler of a method that replies through a Reply.
template <Literal interface, Literal member, template <typename...> typename Result,
          typename... Values, typename Function>
void handle(const Calls& calls, const sdbus::IObject& object, Result<Values...>&& result,
            Function&& function) {
    static constexpr const policy::MethodRow& row = policy::rowOf(interface.view(), member.view());
    Caller caller;
    std::optional<core::Error> unknown;
    try {
        caller = calls.callers.of(raw::Message::beingProcessed(object));
    } catch (const core::Error& error) {
        unknown = error;
    }
    const Reply<Values...> reply(std::move(result),
                                 Call{row, caller, calls.refusals, calls.isEnding});
    if constexpr (interface.view() == "dev.genv.Environment") {
        policy::Target target;
        target.environment = environmentIdOf(object.getObjectPath());
        reply.about(target);
    }
    if (unknown)
        reply.refuse(*unknown);
    else
        reply.guarded([&] { std::forward<Function>(function)(reply); });
}

/// Replies immediately to a method without requirements. A method that must pass the gate does not
/// build.
template <Literal interface, Literal member, typename Function>
auto answer(const Calls& calls, const sdbus::IObject& object, Function&& function) {
    static constexpr const policy::MethodRow& row = policy::rowOf(interface.view(), member.view());
    static_assert(row.requirement == policy::Requirement::Free, "this method must pass the gate");
    try {
        return std::forward<Function>(function)();
    } catch (...) {
        std::string fault;
        const core::Error error = currentRefusal(fault);
        // Read-only methods do not ask the bus for the caller's uid, so only the connection is
        // known here.
        const raw::Message call = raw::Message::beingProcessed(object);
        calls.refusals.refused(describeRefusal(row, std::string(call.sender()), error, fault));
        throw toBusError(error);
    }
}

/// Reads a property. Every exception becomes the only error that a property can have: that its
/// object is gone.
template <typename Function>
auto readProperty(Function&& function) {
    try {
        return std::forward<Function>(function)();
    } catch (...) {
        std::string fault;
        throw toBusError(currentRefusal(fault));
    }
}

} // namespace genv::dbus
