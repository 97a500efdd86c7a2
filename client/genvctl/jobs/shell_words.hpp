// SPDX-License-Identifier: LGPL-2.1-or-later
// Splits a line into words as a shell does, without expanding anything.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace genv::ctl {

/// Splits a line at blanks. Quotation marks and backslashes keep blanks in a word; # begins a
/// comment. Returns nothing if a quotation mark is not closed.
std::optional<std::vector<std::string>> shellWords(std::string_view line);

} // namespace genv::ctl
