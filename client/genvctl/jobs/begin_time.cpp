// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/jobs/begin_time.hpp"

#include "client/genvctl/common/exit_status.hpp"
#include "core/base/duration.hpp"
#include "core/base/error.hpp"
#include "core/base/moment.hpp"
#include "core/base/text.hpp"
#include "core/sentences/sentences.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cctype>
#include <optional>

namespace genv::ctl {

namespace {

std::optional<core::WallTime> momentIn(const std::string& text, core::WallTime now) {
    try {
        return core::parseMoment(text, now);
    } catch (const core::Error&) {
        return std::nullopt;
    }
}

std::optional<core::WallTime> afterSpan(std::string_view text, core::WallTime now) {
    if (text.starts_with('+'))
        text.remove_prefix(1);
    try {
        return now + core::parseTypedDuration(text);
    } catch (const core::Error&) {
        return std::nullopt;
    }
}

// Returns "08:00" for "8:00".
std::string withTwoDigits(const std::string& time) {
    return time.size() > 1 && std::isdigit(static_cast<unsigned char>(time[0])) != 0 &&
                   time[1] == ':'
               ? '0' + time
               : time;
}

std::string date(core::WallTime day) {
    return fmt::format("{:%Y-%m-%d}", core::localTime(day));
}

bool isTimeOfDay(const std::string& text) {
    const std::size_t colon = text.find(':');
    return colon == 1 || colon == 2;
}

// Returns the time of a text whose last word may be a time of day.
std::optional<core::WallTime> calendarTime(const std::string& text, core::WallTime now) {
    const std::size_t space = text.rfind(' ');
    const std::string time =
        withTwoDigits(space == std::string::npos ? text : text.substr(space + 1));
    if (space == std::string::npos) {
        const auto today = momentIn(time, now);
        if (!today || !isTimeOfDay(time) || *today >= now)
            return today;
        return momentIn(date(*momentIn("tomorrow", now)) + ' ' + time, now);
    }
    const std::string day = text.substr(0, space);
    if (day == "today" || day == "tomorrow")
        return momentIn(date(*momentIn(day, now)) + ' ' + time, now);
    return momentIn(day + ' ' + time, now);
}

} // namespace

core::WallTime parseBegin(const std::string& text, core::WallTime now) {
    auto begin = afterSpan(text, now);
    if (!begin)
        begin = calendarTime(text, now);
    if (!begin)
        throw Failure(ExitStatus::Usage,
                      fmt::format("invalid value \"{}\" for --begin: expected 2h, 22:00, "
                                  "\"tomorrow 8:00\" or \"YYYY-MM-DD HH:MM\"",
                                  core::escaped(text)));
    if (*begin < now)
        throw Failure(ExitStatus::Usage,
                      fmt::format("invalid value \"{}\" for --begin: {} is in the past",
                                  core::escaped(text), core::nameTime(*begin)),
                      "Leave --begin out to start as soon as possible.");
    return *begin;
}

} // namespace genv::ctl
