// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/terminal/table.hpp"

#include "client/genvctl/terminal/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace genv::ctl {

namespace {

std::string csvCell(const std::string& cell) {
    if (cell.find_first_of(",\"") == std::string::npos)
        return cell;
    std::string quoted = "\"";
    for (const char c : cell) {
        if (c == '"')
            quoted += '"';
        quoted += c;
    }
    return quoted + '"';
}

std::string csvLine(const std::vector<std::string>& cells) {
    std::string line;
    for (const std::string& cell : cells) {
        if (&cell != &cells.front())
            line += ',';
        line += csvCell(cell);
    }
    return line + '\n';
}

// fmt pads by terminal cells, not bytes.
std::string line(const std::vector<std::string>& cells, const std::vector<std::size_t>& widths) {
    std::string line;
    for (std::size_t i = 0; i < cells.size(); ++i)
        line += widths[i] == 0 ? cells[i] : fmt::format("{:<{}} ", cells[i], widths[i] - 1);
    line.erase(line.find_last_not_of(' ') + 1);
    return line;
}

} // namespace

void Table::add(std::vector<std::string> cells) {
    std::transform(cells.begin(), cells.end(), cells.begin(),
                   [](const std::string& cell) { return shown(cell); });
    rows_.push_back(std::move(cells));
}

std::string Table::text(bool header, const std::string& before, const std::string& after) const {
    const auto all = widths();
    std::string text;
    if (header)
        text += before + line(titles(), all) + after + '\n';
    for (const auto& row : rows_)
        text += line(row, all) + '\n';
    return text;
}

void Table::fit(std::size_t width) {
    if (isWithin(width))
        return;
    for (auto& row : rows_) {
        for (std::size_t i = 0; i + 1 < row.size(); ++i) {
            if (columns_[i].width > 1)
                row[i] = shortened(row[i], columns_[i].width - 1);
        }
    }
    const auto all = widths();
    for (auto& row : rows_) {
        const std::size_t taken = cells(line(row, all));
        std::string& last = row.back();
        const std::size_t excess = taken > width ? taken - width : 0;
        const std::size_t length = cells(last);
        last = shortened(last, length > excess ? length - excess : 1);
    }
}

std::string Table::csv(bool header) const {
    std::string text;
    if (header)
        text += csvLine(titles());
    for (const auto& row : rows_)
        text += csvLine(row);
    return text;
}

std::vector<std::string> Table::titles() const {
    std::vector<std::string> titles;
    for (const Column& column : columns_)
        titles.push_back(column.title);
    return titles;
}

std::vector<std::size_t> Table::widths() const {
    std::vector<std::size_t> widths;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        widths.push_back(columns_[i].width);
        if (widths.back() == 0)
            continue;
        for (const auto& row : rows_)
            widths.back() = std::max(widths.back(), cells(row[i]) + 1);
    }
    return widths;
}

bool Table::isWithin(std::size_t width) const {
    const auto all = widths();
    return std::all_of(rows_.begin(), rows_.end(),
                       [&](const auto& row) { return cells(line(row, all)) <= width; });
}

} // namespace genv::ctl
