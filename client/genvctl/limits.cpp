// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/limits.hpp"

#include "core/bytes.hpp"
#include "core/duration.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <string_view>
#include <utility>
#include <vector>

namespace genv::ctl {

namespace {

enum class Unit { Count, Memory, Time };

struct KnownLimit {
    std::string_view name;
    Unit unit;
};

constexpr std::array knownLimits{
    KnownLimit{"MaxDevicesPerUser", Unit::Count},
    KnownLimit{"MaxEnvironmentsPerUser", Unit::Count},
    KnownLimit{"MaxProcessesPerUser", Unit::Count},
    KnownLimit{"MaxGpuMemoryPerUser", Unit::Memory},
    KnownLimit{"MaxGpuMemoryPerDevice", Unit::Memory},
    KnownLimit{"MaxLifetime", Unit::Time},
    KnownLimit{"IdleTimeout", Unit::Time},
};

struct Row {
    std::string name;
    Unit unit;
    Limit limit;
};

std::vector<Row> rows(LimitsByName limits) {
    std::vector<Row> rows;
    for (const auto& [name, unit] : knownLimits) {
        if (auto found = limits.extract(std::string(name)))
            rows.push_back({found.key(), unit, found.mapped()});
    }
    for (const auto& [name, limit] : limits)
        rows.push_back({name, Unit::Count, limit});
    return rows;
}

// Exactly where that is short, as limits are typed; a sum of shares is seldom a round number.
std::string memoryText(std::uint64_t bytes) {
    constexpr std::size_t longestExact = 9;
    std::string exact = core::formatBytes({bytes});
    return exact.size() <= longestExact ? exact : core::formatMebibytes({bytes});
}

std::string timeText(std::uint64_t seconds) {
    using std::chrono::milliseconds;
    // The service's own times fit by far; a number that does not must not overflow.
    constexpr auto longest =
        std::chrono::duration_cast<std::chrono::seconds>(milliseconds::max()).count();
    const std::chrono::seconds span(
        static_cast<std::int64_t>(std::min(seconds, static_cast<std::uint64_t>(longest))));
    return core::formatDuration(span);
}

std::string text(std::uint64_t number, Unit unit) {
    switch (unit) {
    case Unit::Memory:
        return memoryText(number);
    case Unit::Time:
        return timeText(number);
    case Unit::Count:
        break;
    }
    return std::to_string(number);
}

} // namespace

Table limitsTable(const LimitsByName& limits) {
    Table table({{"LIMIT", 24}, {"ALLOWED", 16}, {"USED", 0}});
    for (const auto& [name, unit, limit] : rows(limits))
        table.add({name, limit.allowed ? text(*limit.allowed, unit) : "unlimited",
                   text(limit.used, unit)});
    return table;
}

Json limitsJson(const LimitsByName& limits) {
    Json result = Json::object();
    for (const auto& [name, unit, limit] : rows(limits))
        result[name] = {{"allowed", orNull(limit.allowed)}, {"used", limit.used}};
    return result;
}

} // namespace genv::ctl
