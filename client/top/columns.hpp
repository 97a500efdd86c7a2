// SPDX-License-Identifier: LGPL-2.1-or-later
// The columns of a table that fit a width.
#pragma once

#include "client/top/cell_text.hpp"

#include <cstddef>
#include <string_view>
#include <vector>

namespace genv::top {

struct Column {
    std::string_view title;
    std::size_t least = 1;    ///< with fewer cells it is left out; 0: in any case
    std::size_t maxWidth = 1; ///< more cells than this are of no use
    int importance = 0;       ///< the least important ones go first
    Align align = Align::Left;
    bool isGraph = false;  ///< it grows with what texts leave
    std::size_t width = 0; ///< set by fitColumns(); 0: it is left out
};

/// Gives each column its width. The last column takes no more than `maxWidth` either.
void fitColumns(std::vector<Column>& columns, std::size_t width);

/// Joins cells with a space between them, without the cells of omitted columns.
Line joinCells(const std::vector<Column>& columns, std::vector<Line> cells);
/// Returns text in one style in the width of its column.
Line textCell(const Column& column, std::string_view text, Style style, Charset charset);
/// Returns the line with the titles of the columns.
Line titleOf(const std::vector<Column>& columns, Charset charset);

} // namespace genv::top
