// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/cluster/jobs/task_list.hpp"

#include "client/genvctl/terminal/terminal_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

namespace genv::ctl::cluster {

namespace {

// More tasks than Slurm accepts in an array. Limits the memory allocated for a list from outside.
constexpr std::size_t maxListedTasks = 4'000'001;

// Adds "5", "1-3" or "10-30:10". Returns whether it is valid.
bool addTaskRange(std::string_view text, std::vector<std::uint32_t>& numbers) {
    const std::size_t dash = text.find('-');
    const std::size_t colon = std::min(text.find(':'), text.size());
    const auto from = parseNumber(text.substr(0, std::min(dash, colon)));
    if (dash == std::string_view::npos) {
        if (!from || colon != text.size())
            return false;
        numbers.push_back(*from);
        return true;
    }
    if (dash > colon)
        return false;
    const auto to = parseNumber(text.substr(dash + 1, colon - dash - 1));
    const auto step = colon == text.size() ? std::optional<std::uint32_t>(1)
                                           : parseNumber(text.substr(colon + 1));
    if (!from || !to || !step || *step == 0 || *from > *to ||
        (*to - *from) / *step + numbers.size() >= maxListedTasks)
        return false;
    for (std::uint64_t number = *from; number <= *to; number += *step)
        numbers.push_back(static_cast<std::uint32_t>(number));
    return true;
}

// Returns the end of the numbers from `begin` on that have equal distances.
std::size_t endOfSteps(const std::vector<std::uint32_t>& numbers, std::size_t begin) {
    std::size_t end = begin + 1;
    while (end + 1 < numbers.size() &&
           numbers[end + 1] - numbers[end] == numbers[begin + 1] - numbers[begin])
        ++end;
    return std::min(end + 1, numbers.size());
}

} // namespace

std::optional<TaskList> parseTaskList(std::string_view text) {
    TaskList list;
    if (text.size() > 2 && text.front() == '[' && text.back() == ']')
        text = text.substr(1, text.size() - 2);
    if (const std::size_t percent = text.find('%'); percent != std::string_view::npos) {
        const auto parallel = parseNumber(text.substr(percent + 1));
        if (!parallel)
            return std::nullopt;
        list.parallel = *parallel;
        text = text.substr(0, percent);
    }
    for (;;) {
        const std::size_t comma = text.find(',');
        if (!addTaskRange(text.substr(0, comma), list.numbers))
            return std::nullopt;
        if (comma == std::string_view::npos)
            return list;
        text.remove_prefix(comma + 1);
    }
}

std::string taskListText(const std::vector<std::uint32_t>& numbers) {
    std::string text;
    for (std::size_t begin = 0; begin < numbers.size();) {
        const std::size_t end = endOfSteps(numbers, begin);
        text += text.empty() ? "" : ",";
        if (end - begin < 3) {
            text += std::to_string(numbers[begin++]);
            continue;
        }
        const std::uint32_t step = numbers[begin + 1] - numbers[begin];
        text += fmt::format("{}-{}", numbers[begin], numbers[end - 1]);
        if (step != 1)
            text += fmt::format(":{}", step);
        begin = end;
    }
    return text;
}

} // namespace genv::ctl::cluster
