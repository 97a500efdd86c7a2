// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/jobs/job_names.hpp"

#include "client/genvctl/common/exit_status.hpp"
#include "client/genvctl/terminal/terminal_text.hpp"
#include "core/base/text.hpp"

#include <fmt/format.h>

#include <optional>
#include <sstream>
#include <string_view>

namespace genv::ctl {

namespace {

[[noreturn]] void invalid(const std::string& text, const char* expected) {
    throw Failure(ExitStatus::Usage,
                  fmt::format("invalid job \"{}\": expected {}", core::escaped(text), expected));
}

std::optional<jobs::JobNumber> jobIn(std::string_view text) {
    const auto number = parseNumber(text);
    return number && *number > 0 ? number : std::nullopt;
}

std::optional<NamedTasks> tasksIn(std::string_view text) {
    const std::size_t dot = text.find('.');
    const auto job = jobIn(text.substr(0, dot));
    if (!job)
        return std::nullopt;
    if (dot == std::string_view::npos)
        return NamedTasks{*job};
    const std::string_view tasks = text.substr(dot + 1);
    const std::size_t dash = tasks.find('-');
    const auto from = parseNumber(tasks.substr(0, dash));
    const auto to = dash == std::string_view::npos ? from : parseNumber(tasks.substr(dash + 1));
    if (!from || !to || *from > *to)
        return std::nullopt;
    return NamedTasks{*job, false, *from, *to};
}

std::optional<jobs::Dependency> dependencyIn(std::string_view text) {
    const std::size_t colon = text.find(':');
    const auto job = jobIn(text.substr(0, colon));
    const std::string_view condition =
        colon == std::string_view::npos ? "ok" : text.substr(colon + 1);
    if (!job)
        return std::nullopt;
    if (condition == "ok")
        return jobs::Dependency{*job, jobs::Condition::Ok};
    if (condition == "fail")
        return jobs::Dependency{*job, jobs::Condition::Fail};
    if (condition == "any")
        return jobs::Dependency{*job, jobs::Condition::Any};
    return std::nullopt;
}

} // namespace

NamedTasks parseTasks(const std::string& text) {
    const auto tasks = tasksIn(text);
    if (!tasks)
        invalid(text, "a number such as 17, a task such as 17.3, or tasks such as 17.1-20");
    return *tasks;
}

NamedTasks parseTask(const std::string& text) {
    const auto tasks = tasksIn(text);
    if (!tasks || (!tasks->isWhole && !tasks->isOne()))
        invalid(text, "a number such as 17, or a task such as 17.3");
    return *tasks;
}

std::vector<jobs::Dependency> parseAfter(const std::string& text) {
    std::vector<jobs::Dependency> after;
    std::istringstream parts(text);
    for (std::string part; std::getline(parts, part, ',');) {
        const auto dependency = dependencyIn(part);
        if (!dependency)
            throw Failure(ExitStatus::Usage,
                          fmt::format("invalid value \"{}\" for --after: expected jobs such as 17, "
                                      "17:ok, 17:fail or 17:any",
                                      core::escaped(text)));
        after.push_back(*dependency);
    }
    if (after.empty())
        throw Failure(ExitStatus::Usage, "missing value for --after");
    return after;
}

std::string nameOf(jobs::JobNumber job, bool isArray, std::uint32_t task) {
    return isArray ? fmt::format("{}.{}", job, task) : std::to_string(job);
}

} // namespace genv::ctl
