// SPDX-License-Identifier: LGPL-2.1-or-later
// Finds the word that somebody meant who mistyped it: for "did you mean".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace genv::core {

/// Returns the known word that is closest to the mistyped one, or nothing if none is close. A
/// missing, additional, wrong or swapped character counts as one mistake, and a third of the
/// characters may be wrong. Of equally close words, the first is returned.
std::optional<std::string> closestWord(std::string_view word,
                                       const std::vector<std::string>& known);

} // namespace genv::core
