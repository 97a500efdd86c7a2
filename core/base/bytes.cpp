// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/base/bytes.hpp"

#include "core/base/error.hpp"
#include "core/base/text.hpp"

#include <array>
#include <charconv>
#include <limits>
#include <span>

namespace genv::core {

namespace {

struct MemoryUnit {
    std::string_view name;
    std::uint64_t size;
};

// The first ones are also written. genv 1 reads no others.
constexpr std::array memoryUnits{
    MemoryUnit{"b", 1},
    MemoryUnit{"k", 1'000},
    MemoryUnit{"ki", 1ULL << 10},
    MemoryUnit{"m", 1'000'000},
    MemoryUnit{"mi", 1ULL << 20},
    MemoryUnit{"g", 1'000'000'000},
    MemoryUnit{"gi", 1ULL << 30},
    MemoryUnit{"kb", 1'000},
    MemoryUnit{"kib", 1ULL << 10},
    MemoryUnit{"mb", 1'000'000},
    MemoryUnit{"mib", 1ULL << 20},
    MemoryUnit{"gb", 1'000'000'000},
    MemoryUnit{"gib", 1ULL << 30},
    MemoryUnit{"t", 1'000'000'000'000},
    MemoryUnit{"tb", 1'000'000'000'000},
    MemoryUnit{"ti", 1ULL << 40},
    MemoryUnit{"tib", 1ULL << 40},
};
constexpr std::size_t writtenUnits = 7;

// A smaller number without a unit was meant in another unit.
constexpr std::uint64_t smallestWithoutUnit = 1ULL << 20;

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
        fail(
            ErrorCode::InvalidArgs,
            "invalid amount of memory \"{}\": expected a whole number and a unit, such as 4g, 80gb "
            "or 512mib",
            escaped(text));
    if (errc == std::errc::result_out_of_range || number > largestAmount / unit->size)
        fail(ErrorCode::InvalidArgs, "invalid amount of memory \"{}\": too large", escaped(text));
    if (number == 0)
        fail(ErrorCode::InvalidArgs, "invalid amount of memory \"{}\": expected at least one byte",
             escaped(text));
    if (end == text.data() + text.size() && number < smallestWithoutUnit)
        fail(ErrorCode::InvalidArgs,
             "invalid amount of memory \"{0}\": expected a unit; without one, it means bytes. Did "
             "you mean {0}{1}?",
             escaped(text), number < 1000 ? "g" : "m");
    return {number * unit->size};
}

std::string formatBytes(Bytes amount) {
    if (amount.count == 0)
        return "0";
    MemoryUnit best = memoryUnits.front();
    for (const MemoryUnit& unit : std::span(memoryUnits).first(writtenUnits)) {
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
