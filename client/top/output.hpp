// SPDX-License-Identifier: LGPL-2.1-or-later
// A frame on standard output: rows as text, with escape sequences only where they are wanted, or
// JSON.
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

/// What the frame has of what was chosen.
ctl::Json jsonOf(const Frame& frame, const Choice& choice);

} // namespace genv::top
