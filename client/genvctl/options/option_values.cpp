// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/options/option_values.hpp"

#include "client/genvctl/common/exit_status.hpp"
#include "client/genvctl/terminal/terminal_text.hpp"
#include "core/base/bytes.hpp"
#include "core/base/duration.hpp"
#include "core/base/error.hpp"
#include "core/base/moment.hpp"

#include <fmt/format.h>

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

std::chrono::seconds wholeSeconds(const char* option, const std::string& text,
                                  std::chrono::milliseconds span) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(span);
    if (seconds != span)
        throw Failure(
            ExitStatus::Usage,
            fmt::format("invalid value \"{}\" for {}: expected whole seconds", text, option));
    return seconds;
}

} // namespace

std::chrono::seconds readTime(const char* option, const std::string& text) {
    return wholeSeconds(option, text, parsed(option, text, core::parseTypedDuration));
}

std::chrono::seconds readTimeOrSeconds(const char* option, const std::string& text) {
    return wholeSeconds(option, text, parsed(option, text, core::parseDuration));
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

} // namespace genv::ctl
