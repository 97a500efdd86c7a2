// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/jobs/model/attempt_environment_id.hpp"

#include "client/jobs/model/take_number.hpp"

#include <fmt/format.h>

namespace genv::jobs {

namespace {

// Takes a separator and the number after it, if they are there.
bool takePart(std::string_view& text, char separator) {
    if (!text.starts_with(separator))
        return true;
    text.remove_prefix(1);
    return takeNumber(text).has_value();
}

} // namespace

std::string environmentIdOf(const AttemptName& attempt, bool isArray) {
    std::string id = isArray ? fmt::format("job-{}.{}", attempt.task.job, attempt.task.number)
                             : fmt::format("job-{}", attempt.task.job);
    return attempt.attempt > 1 ? fmt::format("{}-{}", id, attempt.attempt) : id;
}

std::string environmentIdOf(const std::string& id, std::uint32_t uid, std::uint64_t serial) {
    const std::string ofUser = fmt::format("@{}", uid);
    const std::size_t end = id.find('@');
    return end == std::string::npos ? id + ofUser
                                    : fmt::format("{}{}.{}", id.substr(0, end), ofUser, serial);
}

std::optional<JobNumber> jobOf(std::string_view environmentId) {
    constexpr std::string_view prefix = "job-";
    if (!environmentId.starts_with(prefix))
        return std::nullopt;
    std::string_view rest = environmentId.substr(prefix.size());
    const auto job = takeNumber(rest);
    const bool isName = job && takePart(rest, '.') && takePart(rest, '-') &&
                        (!rest.starts_with('@') || (takePart(rest, '@') && takePart(rest, '.')));
    return isName && rest.empty() ? job : std::nullopt;
}

} // namespace genv::jobs
