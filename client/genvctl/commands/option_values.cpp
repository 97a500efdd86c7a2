// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/commands/option_values.hpp"

#include "client/genvctl/exit_status.hpp"
#include "client/genvctl/text.hpp"
#include "core/bytes.hpp"
#include "core/duration.hpp"
#include "core/error.hpp"
#include "core/moment.hpp"

#include <fmt/format.h>
#include <pwd.h>

#include <array>

namespace genv::ctl {

namespace {

template <typename Parse>
auto parsed(const char* option, const std::string& text, Parse parse) {
    try {
        return parse(text);
    } catch (const core::Error& error) {
        throw Failure(ExitStatus::Usage, fmt::format("{}: {}", option, error.what()));
    }
}

} // namespace

std::chrono::seconds readTime(const char* option, const std::string& text) {
    const auto span = parsed(option, text, core::parseDuration);
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(span);
    if (seconds != span)
        throw Failure(ExitStatus::Usage,
                      fmt::format("{}: \"{}\" is not a whole number of seconds", option, text));
    return seconds;
}

std::optional<std::chrono::seconds> readTime(const char* option,
                                             const std::optional<std::string>& text) {
    return text ? std::optional(readTime(option, *text)) : std::nullopt;
}

std::optional<std::uint64_t> readMemory(const char* option,
                                        const std::optional<std::string>& text) {
    return text ? std::optional(parsed(option, *text, core::parseBytes).count) : std::nullopt;
}

Time readMoment(const char* option, const std::string& text) {
    return parsed(option, text, [](const std::string& moment) {
        return core::parseMoment(moment, currentTime());
    });
}

std::uint32_t uidOf(const std::string& user) {
    // A name may be all digits, so the user database comes first.
    passwd entry{};
    passwd* found = nullptr;
    std::array<char, 16384> buffer{};
    getpwnam_r(user.c_str(), &entry, buffer.data(), buffer.size(), &found);
    if (found != nullptr)
        return found->pw_uid;
    if (const auto uid = parseNumber(user))
        return *uid;
    throw Failure(ExitStatus::Failed, fmt::format("There is no user \"{}\"", user),
                  "\"getent passwd\" lists the users.");
}

} // namespace genv::ctl
