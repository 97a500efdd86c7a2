// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/reports/limit_tables.hpp"

#include "client/genvctl/terminal/terminal_text.hpp"
#include "core/base/duration.hpp"
#include "core/sentences/sentences.hpp"
#include "core/settings/limit_definitions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace genv::ctl {

namespace {

using core::LimitUnit;

/// A column of the table of all users, for a known limit or for a limit of a newer service.
struct Column {
    std::string_view name;
    LimitUnit unit;
    std::string_view title;  ///< for tables with units
    std::string_view number; ///< for tables with plain numbers
};

struct LimitRow {
    std::string name;
    LimitUnit unit;
    Limit limit;
    bool isAllowance = false; ///< nobody exceeds it
};

std::vector<LimitRow> rows(LimitsByName limits) {
    std::vector<LimitRow> rows;
    for (const core::LimitDefinition& known : core::limitDefinitions()) {
        if (auto found = limits.extract(std::string(known.key)))
            rows.push_back({found.key(), known.unit(), found.mapped(), known.isAllowance});
    }
    for (const auto& [name, limit] : limits)
        rows.push_back({name, LimitUnit::Count, limit});
    return rows;
}

std::string timeText(std::uint64_t seconds) {
    using std::chrono::milliseconds;
    // Times of the service are far below this maximum. A larger number must not overflow.
    constexpr auto maxSeconds =
        std::chrono::duration_cast<std::chrono::seconds>(milliseconds::max()).count();
    const std::chrono::seconds span(
        static_cast<std::int64_t>(std::min(seconds, static_cast<std::uint64_t>(maxSeconds))));
    return core::formatDuration(span);
}

std::string text(std::uint64_t number, LimitUnit unit) {
    switch (unit) {
    case LimitUnit::Memory:
        return number == 0 ? "0" : core::nameMemory({number});
    case LimitUnit::Time:
        return timeText(number);
    case LimitUnit::Count:
        break;
    }
    return std::to_string(number);
}

// Returns the columns of a table of all users: every limit that any user has.
std::vector<Column> columnsOf(const std::vector<UserLimitUse>& users) {
    std::vector<Column> columns;
    std::set<std::string_view> remaining;
    for (const UserLimitUse& user : users) {
        for (const auto& [name, limit] : user.limits)
            remaining.insert(name);
    }
    for (const core::LimitDefinition& known : core::limitDefinitions()) {
        if (remaining.erase(known.key) > 0)
            columns.push_back({known.key, known.unit(), known.label, known.column});
    }
    for (const std::string_view name : remaining)
        columns.push_back({name, LimitUnit::Count, name, name});
    return columns;
}

std::string usedOfAllowed(const UserLimitUse& user, const Column& column) {
    const auto found = user.limits.find(std::string(column.name));
    if (found == user.limits.end())
        return "";
    const auto& [allowed, used] = found->second;
    return fmt::format("{}/{}", text(used, column.unit),
                       allowed ? text(*allowed, column.unit) : "-");
}

std::string_view suffixOf(LimitUnit unit) {
    switch (unit) {
    case LimitUnit::Memory:
        return "_BYTES";
    case LimitUnit::Time:
        return "_SECONDS";
    case LimitUnit::Count:
        break;
    }
    return "";
}

} // namespace

Table limitsTable(const LimitsByName& limits, bool marksExcess) {
    Table table({{"LIMIT", 24}, {"ALLOWED", 16}, {"USED", 0}});
    for (const auto& [name, unit, limit, isAllowance] : rows(limits)) {
        const bool isOver =
            marksExcess && !isAllowance && limit.allowed && limit.used > *limit.allowed;
        table.add({name, limit.allowed ? text(*limit.allowed, unit) : "unlimited",
                   text(limit.used, unit) + (isOver ? " (over the limit)" : "")});
    }
    return table;
}

Json limitsJson(const LimitsByName& limits) {
    Json result = Json::object();
    for (const auto& [name, unit, limit, isAllowance] : rows(limits))
        result[name] = {{"allowed", orNull(limit.allowed)}, {"used", limit.used}};
    return result;
}

Table allLimitsTable(const std::vector<UserLimitUse>& users, std::optional<std::size_t> width) {
    constexpr std::size_t usualWidth = 16;
    const std::vector<Column> columns = columnsOf(users);
    std::vector<Table::Column> wide{{"USER", usualWidth}};
    for (const Column& column : columns)
        wide.push_back({std::string(column.title), column.title.size() + 1,
                        static_cast<int>(wide.size()) - 1}); // the first limit stays
    std::vector<std::vector<std::string>> lines;
    for (const UserLimitUse& user : users) {
        std::vector<std::string> line{fmt::format("{}({})", user.user, user.uid)};
        for (const Column& column : columns)
            line.push_back(usedOfAllowed(user, column));
        for (std::size_t i = 0; i < line.size(); ++i)
            wide[i].width = std::max(wide[i].width, cells(shown(line[i])) + 1);
        lines.push_back(std::move(line));
    }
    std::size_t taken = 0;
    for (const Table::Column& column : wide)
        taken += column.width;
    // The space after the last column does not count.
    if (const std::size_t room = width.value_or(taken) + 1; taken > room)
        wide.front().width -= std::min(wide.front().width - usualWidth, taken - room);
    Table table(std::move(wide));
    for (auto& line : lines)
        table.add(std::move(line));
    return table;
}

Table allLimitsNumbers(const std::vector<UserLimitUse>& users) {
    const std::vector<Column> columns = columnsOf(users);
    std::vector<Table::Column> titles{{"USER"}, {"UID"}};
    for (const Column& column : columns) {
        titles.push_back({fmt::format("{}_USED{}", column.number, suffixOf(column.unit))});
        titles.push_back({fmt::format("{}_ALLOWED{}", column.number, suffixOf(column.unit))});
    }
    Table table(std::move(titles));
    for (const UserLimitUse& user : users) {
        std::vector<std::string> line{user.user, std::to_string(user.uid)};
        for (const Column& column : columns) {
            const auto found = user.limits.find(std::string(column.name));
            const bool isThere = found != user.limits.end();
            line.push_back(isThere ? std::to_string(found->second.used) : "");
            line.push_back(isThere && found->second.allowed ? std::to_string(*found->second.allowed)
                                                            : "");
        }
        table.add(std::move(line));
    }
    return table;
}

Json allLimitsJson(const std::vector<UserLimitUse>& users) {
    Json result = Json::array();
    for (const UserLimitUse& user : users)
        result.push_back(
            {{"user", user.user}, {"uid", user.uid}, {"limits", limitsJson(user.limits)}});
    return result;
}

} // namespace genv::ctl
