// SPDX-License-Identifier: LGPL-2.1-or-later
// Text in terminal cells: foreign text made safe, cut and padded to a width, and amounts.
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

/// Foreign text as these characters can show it: the rest becomes \xNN by bytes.
std::string safe(std::string_view text, Charset charset);

/// How many cells a safe text takes. With Charset::Unicode the locale must be a UTF-8 one.
std::size_t cellsOf(std::string_view text, Charset charset);

enum class Align { Left, Right };
/// A safe text in exactly this many cells: padded, or cut with a mark at its end.
std::string fitted(std::string_view text, std::size_t width, Charset charset,
                   Align align = Align::Left);
/// The same without padding.
std::string cut(std::string_view text, std::size_t width, Charset charset);
/// The lines of a sentence, broken at spaces.
std::vector<std::string> wrapped(std::string_view text, std::size_t width, Charset charset);

/// A line in at most this many cells.
Line cutLine(const Line& line, std::size_t width, Charset charset);
/// How many cells a line takes.
std::size_t cellsOf(const Line& line, Charset charset);

/// An amount of memory in a few cells: "512M", "1.5G", "80G".
std::string shortAmount(std::uint64_t bytes);
/// "12/80G"; "?/80G" where the first is not known.
std::string usedOf(std::optional<std::uint64_t> used, std::uint64_t total);
/// How long it is from one moment to another: "1h 5min"; "0s" where it is over.
std::string spanBetween(Time from, Time to);
/// Formats a time as "14:30" if it is today, otherwise as "27/11 14:30".
std::string momentOf(Time when, Time now);

} // namespace genv::top
