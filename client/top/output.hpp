// SPDX-License-Identifier: LGPL-2.1-or-later
// Prints a frame: as rows of text, with escape sequences only on a terminal, or as JSON.
#pragma once

#include "client/genvctl/terminal/json.hpp"
#include "client/top/page.hpp"

#include <string>
#include <vector>

namespace genv::top {

enum class Emphasis {
    None,       ///< text alone
    Attributes, ///< bold, dim and reverse (NO_COLOR)
    Colours,
};

std::string textOf(const std::vector<PageLine>& lines, Emphasis emphasis);

/// Returns the chosen part of the frame.
ctl::Json jsonOf(const Frame& frame, const Choice& choice);

} // namespace genv::top
