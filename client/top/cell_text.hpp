// SPDX-License-Identifier: LGPL-2.1-or-later
// Text in terminal cells: makes foreign text safe, cuts and pads it, and formats amounts.
#pragma once

#include "client/top/span.hpp"
#include "genv/types.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace genv::top {

/// Makes foreign text safe: bytes that the terminal cannot show become \xNN.
std::string safe(std::string_view text, Charset charset);

/// Returns the width of a safe text in cells. Charset::Unicode requires a UTF-8 locale.
std::size_t cellsOf(std::string_view text, Charset charset);

enum class Align { Left, Right };
/// Returns a safe text in exactly this number of cells: padded, or cut with a mark at its end.
std::string fitted(std::string_view text, std::size_t width, Charset charset,
                   Align align = Align::Left);
/// The same, without padding.
std::string cut(std::string_view text, std::size_t width, Charset charset);
/// Breaks a sentence at spaces into lines.
std::vector<std::string> wrapped(std::string_view text, std::size_t width, Charset charset);

/// Cuts a line to at most this number of cells.
Line cutLine(const Line& line, std::size_t width, Charset charset);
/// Returns the width of a line in cells.
std::size_t cellsOf(const Line& line, Charset charset);

/// Formats an amount of memory in a few cells: "512M", "1.5G", "80G".
std::string shortAmount(std::uint64_t bytes);
/// Formats used and total memory: "12/80G", or "?/80G" if the first is unknown.
std::string usedOf(std::optional<std::uint64_t> used, std::uint64_t total);
/// Formats the time from one moment to another: "1h 5min", or "0s" if it has passed.
std::string spanBetween(Time from, Time to);
/// Formats a time as "14:30" if it is today, otherwise as "27/11 14:30".
std::string momentOf(Time when, Time now);

} // namespace genv::top
