// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/bytes.hpp"

#include "core/error.hpp"
#include "core/text.hpp"

#include <array>
#include <charconv>
#include <limits>

namespace genv::core {

namespace {

struct MemoryUnit {
    std::string_view name;
    std::uint64_t size;
};

constexpr std::array memoryUnits{
    MemoryUnit{"b", 1},           MemoryUnit{"k", 1'000},       MemoryUnit{"ki", 1ULL << 10},
    MemoryUnit{"m", 1'000'000},   MemoryUnit{"mi", 1ULL << 20}, MemoryUnit{"g", 1'000'000'000},
    MemoryUnit{"gi", 1ULL << 30},
};

// Many D-Bus clients and JSON readers store numbers as signed 64-bit integers.
constexpr std::uint64_t largestAmount = std::numeric_limits<std::int64_t>::max();

const MemoryUnit* findUnit(std::string_view suffix) {
    std::string lower;
    for (const char c : suffix)
        lower += (c >= 'A' && c <= 'Z') ? static_cast<char>(c - 'A' + 'a') : c;
    if (lower.empty())
        return memoryUnits.data();
    for (const MemoryUnit& unit : memoryUnits) {
        if (unit.name == lower)
            return &unit;
    }
    return nullptr;
}

} // namespace

Bytes parseBytes(std::string_view text) {
    std::uint64_t number = 0;
    const auto [end, errc] = std::from_chars(text.data(), text.data() + text.size(), number);
    const MemoryUnit* unit = nullptr;
    if (errc == std::errc{})
        unit = findUnit(text.substr(static_cast<std::size_t>(end - text.data())));
    if (unit == nullptr && errc != std::errc::result_out_of_range)
        fail(ErrorCode::InvalidArgs,
             "invalid amount of memory \"{}\": expected a whole number and a unit (b, k, m, g, ki, "
             "mi, gi), "
             "such as 4g or 512mi",
             escaped(text));
    if (errc == std::errc::result_out_of_range || number > largestAmount / unit->size)
        fail(ErrorCode::InvalidArgs, "invalid amount of memory \"{}\": too large", escaped(text));
    if (number == 0)
        fail(ErrorCode::InvalidArgs, "invalid amount of memory \"{}\": expected at least one byte",
             escaped(text));
    return {number * unit->size};
}

std::string formatBytes(Bytes amount) {
    if (amount.count == 0)
        return "0";
    MemoryUnit best = memoryUnits.front();
    for (const MemoryUnit& unit : memoryUnits) {
        if (amount.count % unit.size == 0 && unit.size > best.size)
            best = unit;
    }
    if (best.size == 1)
        return fmt::format("{}b", amount.count);
    return fmt::format("{}{}", amount.count / best.size, best.name);
}

std::string formatMebibytes(Bytes amount) {
    return fmt::format("{}mi", amount.count >> 20);
}

} // namespace genv::core
