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

/// Reads an amount: a whole number and a unit, in either case. b, k, m, g, t and kb, mb, gb, tb are
/// powers of 1000; ki, mi, gi, ti and kib, mib, gib, tib are powers of 1024. No unit means bytes.
/// Throws Error(InvalidArgs) for anything else, for 0, for 2^63 bytes or more, and for less than
/// 1 MiB without a unit, where the unit was most likely forgotten.
Bytes parseBytes(std::string_view text);

/// Writes an amount exactly, in the unit of genv 1 that gives the smallest number: 4000000000 is
/// "4g", 44040192 is "42mi".
std::string formatBytes(Bytes amount);

/// Writes an amount in whole mebibytes, rounded down, as snapshots do: "15258mi".
std::string formatMebibytes(Bytes amount);

} // namespace genv::core
