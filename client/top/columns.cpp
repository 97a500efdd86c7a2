// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/top/columns.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace genv::top {

namespace {

std::size_t leastWidth(const std::vector<Column>& columns) {
    std::size_t width = 0;
    for (const Column& column : columns) {
        if (column.width > 0)
            width += column.least + (width > 0 ? 1 : 0);
    }
    return width;
}

Column* leastImportant(std::vector<Column>& columns) {
    Column* found = nullptr;
    for (Column& column : columns) {
        if (column.width > 0 && (found == nullptr || column.importance < found->importance))
            found = &column;
    }
    return found;
}

// Distributes the remaining cells among the columns of one kind, in proportion to the cells that
// each could still use. Returns the cells that remain then.
std::size_t growColumns(std::vector<Column>& columns, std::size_t remaining, bool graphs) {
    std::size_t wanted = 0;
    for (const Column& column : columns) {
        if (column.width > 0 && column.isGraph == graphs)
            wanted += column.maxWidth - column.width;
    }
    for (Column& column : columns) {
        if (column.width == 0 || column.isGraph != graphs || wanted == 0)
            continue;
        const std::size_t more = column.maxWidth - column.width;
        const std::size_t given = std::min(more, more * std::min(remaining, wanted) / wanted);
        wanted -= more;
        remaining -= given;
        column.width += given;
    }
    return remaining;
}

} // namespace

void fitColumns(std::vector<Column>& columns, std::size_t width) {
    for (Column& column : columns) {
        column.width = column.least;
        column.maxWidth = std::max(column.maxWidth, column.least);
    }
    while (leastWidth(columns) > width) {
        Column* column = leastImportant(columns);
        if (column == nullptr)
            return;
        column->width = 0;
    }
    const std::size_t remaining = growColumns(columns, width - leastWidth(columns), false);
    growColumns(columns, remaining, true);
}

Line joinCells(const std::vector<Column>& columns, std::vector<Line> cells) {
    Line line;
    for (std::size_t i = 0; i < columns.size() && i < cells.size(); ++i) {
        if (columns[i].width == 0)
            continue;
        if (!line.empty())
            line.push_back({" ", style::plain});
        std::ranges::move(cells[i], std::back_inserter(line));
    }
    return line;
}

Line textCell(const Column& column, std::string_view text, Style style, Charset charset) {
    if (column.width == 0)
        return {};
    return {{fitted(text, column.width, charset, column.align), style}};
}

Line titleOf(const std::vector<Column>& columns, Charset charset) {
    std::vector<Line> cells;
    cells.reserve(columns.size());
    for (const Column& column : columns)
        cells.push_back(textCell(column, column.title, style::bold, charset));
    return joinCells(columns, std::move(cells));
}

} // namespace genv::top
