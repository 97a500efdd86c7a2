// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/jobs/array_values.hpp"

#include "client/genvctl/common/exit_status.hpp"
#include "client/genvctl/terminal/terminal_text.hpp"
#include "client/jobs/model/book.hpp"
#include "core/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

namespace genv::ctl {

namespace {

constexpr const char* forms = "1-200, 0-100:10, 1,2,5-9, a,b,c or @FILE, and %N after it for at "
                              "most N tasks at once";

[[noreturn]] void invalid(std::string_view text, const std::string& why) {
    throw Failure(ExitStatus::Usage,
                  fmt::format("invalid value \"{}\" for --array: {}", core::escaped(text), why));
}

[[noreturn]] void invalidForm(std::string_view text) {
    invalid(text, fmt::format("expected {}", forms));
}

void requireSize(std::string_view text, std::uint64_t count) {
    if (count > jobs::Book::maxTasksPerJob)
        invalid(text, fmt::format("it has {} tasks, expected at most {}", count,
                                  jobs::Book::maxTasksPerJob));
}

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    for (;;) {
        const std::size_t end = text.find(separator);
        parts.push_back(text.substr(0, end));
        if (end == std::string_view::npos)
            return parts;
        text.remove_prefix(end + 1);
    }
}

/// A range FROM-TO:STEP; a number alone is a range of one.
struct Range {
    std::uint64_t from = 0;
    std::uint64_t to = 0;
    std::uint64_t step = 1;

    [[nodiscard]] std::uint64_t count() const { return from > to ? 0 : (to - from) / step + 1; }
};

// A word such as 007 is not a number: its zeros would be lost.
std::optional<std::uint32_t> numberAlone(std::string_view text) {
    const auto number = parseNumber(text);
    return number && std::to_string(*number) == text ? number : std::nullopt;
}

std::optional<Range> rangeIn(std::string_view text) {
    if (const auto number = numberAlone(text))
        return Range{*number, *number};
    const std::size_t dash = text.find('-');
    const std::size_t colon = text.find(':');
    if (dash == std::string_view::npos || (colon != std::string_view::npos && colon < dash))
        return std::nullopt;
    const auto from = parseNumber(text.substr(0, dash));
    const auto to = parseNumber(text.substr(dash + 1, colon - std::min(colon, dash + 1)));
    const auto step = colon == std::string_view::npos ? std::optional<std::uint32_t>(1)
                                                      : parseNumber(text.substr(colon + 1));
    if (!from || !to || !step)
        return std::nullopt;
    return Range{*from, *to, *step};
}

// Returns nothing if one of the parts is a word.
std::optional<std::vector<Range>> rangesIn(const std::vector<std::string_view>& parts) {
    std::vector<Range> ranges;
    for (const std::string_view part : parts) {
        const auto range = rangeIn(part);
        if (!range)
            return std::nullopt;
        ranges.push_back(*range);
    }
    return ranges;
}

std::vector<jobs::TaskValue> numbered(std::string_view text, const std::vector<Range>& ranges) {
    std::uint64_t count = 0;
    for (const Range& range : ranges) {
        if (range.step == 0)
            invalid(text, "expected a step of at least 1");
        if (range.count() == 0)
            invalid(text, fmt::format("{}-{} is empty: expected the smaller number first",
                                      range.from, range.to));
        count += range.count();
        requireSize(text, count);
    }
    std::vector<jobs::TaskValue> tasks;
    tasks.reserve(count);
    for (const Range& range : ranges) {
        for (std::uint64_t number = range.from; number <= range.to; number += range.step)
            tasks.push_back({static_cast<std::uint32_t>(number), std::to_string(number)});
    }
    std::ranges::sort(tasks, {}, &jobs::TaskValue::number);
    const auto twice = std::ranges::adjacent_find(tasks, {}, &jobs::TaskValue::number);
    if (twice != tasks.end())
        invalid(text, fmt::format("it has {} twice", twice->number));
    return tasks;
}

void add(std::vector<jobs::TaskValue>& tasks, std::string_view value) {
    tasks.push_back({static_cast<std::uint32_t>(tasks.size() + 1), std::string(value)});
}

std::vector<jobs::TaskValue> named(std::string_view text,
                                   const std::vector<std::string_view>& words) {
    requireSize(text, words.size());
    std::vector<jobs::TaskValue> tasks;
    for (const std::string_view word : words) {
        if (word.empty())
            invalidForm(text);
        add(tasks, word);
    }
    return tasks;
}

std::vector<jobs::TaskValue> linesOf(std::string_view option, std::string_view text) {
    if (text.find('\0') != std::string_view::npos)
        invalid(option, "the file is not text: it contains a zero byte");
    std::vector<jobs::TaskValue> tasks;
    for (const std::string_view line : split(text, '\n')) {
        if (!line.empty())
            add(tasks, line);
    }
    if (tasks.empty())
        invalid(option, "the file has no line");
    requireSize(option, tasks.size());
    return tasks;
}

// Removes "%8" from the end of the text.
std::uint32_t takeParallel(std::string_view text, std::string_view& rest) {
    const std::size_t percent = rest.rfind('%');
    if (percent == std::string_view::npos)
        return 0;
    const auto number = parseNumber(rest.substr(percent + 1));
    if (!number)
        return 0; // a part of a word
    if (*number == 0)
        invalid(text, "expected at least 1 after %");
    rest = rest.substr(0, percent);
    return *number;
}

} // namespace

ArrayValues parseArray(const std::string& text,
                       const std::function<std::string(const std::string& file)>& readLines) {
    std::string_view rest = text;
    ArrayValues values;
    values.parallel = takeParallel(text, rest);
    if (rest.empty() || rest == "@")
        invalidForm(text);
    if (rest.starts_with('@')) {
        values.tasks = linesOf(text, readLines(std::string(rest.substr(1))));
        return values;
    }
    const auto parts = split(rest, ',');
    const auto ranges = rangesIn(parts);
    values.tasks = ranges ? numbered(text, *ranges) : named(text, parts);
    return values;
}

} // namespace genv::ctl
