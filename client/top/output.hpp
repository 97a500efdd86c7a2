// SPDX-License-Identifier: LGPL-2.1-or-later
// Prints a frame: as rows of text, with escape sequences only on a terminal, or as JSON.
#pragma once

#include "client/genvctl/terminal/json.hpp"
#include "client/top/page.hpp"

#include <string>
#include <vector>

namespace genv::top {

enum class TextEmphasis {
    None,       ///< text alone
    Attributes, ///< bold, dim and reverse (NO_COLOR)
    Colors,
};

std::string textOf(const std::vector<PageLine>& lines, TextEmphasis emphasis);

/// Lists of objects, as genvctl prints them.
struct ListsJson {
    ctl::Json devices;
    ctl::Json environments;
    ctl::Json processes;
    ctl::Json queue;
};

/// Returns the state of the frame's machine or cluster with these lists.
ctl::Json jsonOf(const Frame& frame, ListsJson lists);

} // namespace genv::top
