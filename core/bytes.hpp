// SPDX-License-Identifier: LGPL-2.1-or-later
// Amounts of memory. A number of bytes has a type of its own, so that the unit is part of the type.
// Amounts as people type them (4g, 42mi) are parsed and formatted only here.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace genv::core {

/// A number of bytes.
struct Bytes {
    std::uint64_t count = 0;

    friend constexpr auto operator<=>(const Bytes&, const Bytes&) = default;
    friend constexpr Bytes operator+(Bytes a, Bytes b) { return {a.count + b.count}; }
    friend constexpr Bytes operator-(Bytes a, Bytes b) { return {a.count - b.count}; }
};

/// Reads an amount: a whole number and a unit, b k m g (powers of 1000) or ki mi gi (powers of
/// 1024) in either case; no unit means bytes. Throws Error(InvalidArgs) for anything else, for 0
/// and for 2^63 bytes or more.
Bytes parseBytes(std::string_view text);

/// Writes an amount exactly, in the unit that gives the smallest number: 4000000000 is "4g",
/// 44040192 is "42mi".
std::string formatBytes(Bytes amount);

/// Writes an amount in whole mebibytes, rounded down, as snapshots do: "15258mi".
std::string formatMebibytes(Bytes amount);

} // namespace genv::core
