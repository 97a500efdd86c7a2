// SPDX-License-Identifier: LGPL-2.1-or-later
// All rows of a frame: a pure function of the frame, the choice and the size, for the screen,
// --once and the tests.
#pragma once

#include "client/top/choice.hpp"
#include "client/top/frame.hpp"

#include <optional>
#include <vector>

namespace genv::top {

struct PageLine {
    Line spans;
    std::optional<Item> item; ///< what the row is about
    bool isSelected = false;

    friend bool operator==(const PageLine&, const PageLine&) = default;
};

/// Returns the lines of a screen: exactly `size.rows`.
std::vector<PageLine> screenPage(const Frame& frame, const Choice& choice, Size size);

/// Returns all lines, in any number and without a selection.
std::vector<PageLine> wholePage(const Frame& frame, const Choice& choice, std::size_t columns);

} // namespace genv::top
