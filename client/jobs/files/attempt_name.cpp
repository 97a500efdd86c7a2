// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/jobs/files/attempt.hpp"
#include "client/jobs/model/take_number.hpp"

#include <fmt/format.h>

namespace genv::jobs {

namespace {

bool takeDot(std::string_view& text) {
    const bool is = text.starts_with('.');
    text.remove_prefix(is ? 1 : 0);
    return is;
}

} // namespace

std::string textOf(const AttemptName& attempt) {
    return fmt::format("{}.{}.{}", attempt.task.job, attempt.task.number, attempt.attempt);
}

std::optional<AttemptName> parseAttemptName(std::string_view text) {
    const auto job = takeNumber(text);
    const bool first = job && takeDot(text);
    const auto number = first ? takeNumber(text) : std::nullopt;
    const bool second = number && takeDot(text);
    const auto attempt = second ? takeNumber(text) : std::nullopt;
    if (!attempt || !text.empty() || *job == 0 || *attempt == 0)
        return std::nullopt;
    return AttemptName{{*job, *number}, *attempt};
}

} // namespace genv::jobs
