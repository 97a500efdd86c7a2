// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dbus/calls/call_options.hpp"

#include <fmt/ranges.h>

#include <system_error>

namespace genv::dbus {

std::optional<sdbus::Variant> CallOptions::takeAny(const std::string& name) {
    known_.push_back(name);
    const auto node = values_.extract(name);
    if (node.empty())
        return std::nullopt;
    return node.mapped();
}

void CallOptions::refuseType(const std::string& name, const sdbus::Variant& value,
                             const std::string& wanted) {
    core::fail(core::ErrorCode::InvalidArgs,
               "invalid type \"{1}\" of option \"{0}\": expected \"{2}\"", name,
               core::escaped(value.peekValueType()), wanted);
}

std::optional<core::Bytes> CallOptions::takeMemory(const std::string& name) {
    const std::optional<sdbus::Variant> value = takeAny(name);
    if (!value)
        return std::nullopt;
    if (value->containsValueOfType<std::string>())
        return core::parseBytes(value->get<std::string>());
    if (!value->containsValueOfType<std::uint64_t>())
        refuseType(name, *value, "s\" or \"t");
    return core::parseBytes(std::to_string(value->get<std::uint64_t>()) + "b");
}

std::optional<std::string> CallOptions::takeName(const std::string& name) {
    auto value = take<std::string>(name);
    if (value)
        core::requireName(*value);
    return value;
}

// sdbus-c++ duplicates the descriptor. If that fails, version 1 returns an invalid one, and version
// 2 throws a system error.
std::optional<sdbus::UnixFd> CallOptions::takeDescriptor(const std::string& name) {
    std::optional<sdbus::UnixFd> value;
    try {
        value = take<sdbus::UnixFd>(name);
    } catch (const std::system_error&) {
        value.emplace();
    }
    if (value && !value->isValid())
        core::fail(core::ErrorCode::LimitsExceeded,
                   "no descriptor is left for option \"{}\"; try again later", name);
    return value;
}

std::optional<std::chrono::seconds> CallOptions::takeSeconds(const std::string& name) {
    constexpr std::uint64_t maxSeconds = 100ULL * 365 * 24 * 60 * 60;
    const auto seconds = take<std::uint64_t>(name);
    if (!seconds)
        return std::nullopt;
    if (*seconds == 0 || *seconds > maxSeconds)
        core::fail(core::ErrorCode::InvalidArgs, "invalid {} of {} seconds: expected 1-{}", name,
                   *seconds, maxSeconds);
    return std::chrono::seconds{static_cast<std::int64_t>(*seconds)};
}

void CallOptions::finish() const {
    if (!values_.empty())
        core::fail(core::ErrorCode::InvalidArgs, "unknown option \"{}\": expected one of {}",
                   core::escaped(values_.begin()->first), fmt::join(known_, ", "));
}

} // namespace genv::dbus
