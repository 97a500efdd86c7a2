// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/terminal/table.hpp"

#include "client/genvctl/terminal/terminal_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace genv::ctl {

namespace {

// A last column with fewer cells would be useless and is omitted instead.
constexpr std::size_t shortestLastCell = 16;

// A spreadsheet evaluates a cell that begins so, and users choose names. An apostrophe makes it
// text. Numbers and a lone "-" need none.
bool isFormula(const std::string& cell) {
    return cell.size() > 1 &&
           std::string_view("=+-@").find(cell.front()) != std::string_view::npos &&
           cell.find_first_not_of("0123456789.", 1) != std::string::npos;
}

std::string csvCell(const std::string& cell) {
    std::string text = isFormula(cell) ? "'" + cell : cell;
    if (text.find_first_of(",\"") == std::string::npos)
        return text;
    std::string quoted = "\"";
    for (const char c : text) {
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

// fmt pads by terminal cells, not by bytes.
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

void Table::leaveOutExtras() {
    for (std::size_t i = columns_.size(); i-- > 0;) {
        if (columns_[i].isExtra)
            leaveOut(i);
    }
}

void Table::fit(std::size_t width) {
    for (;;) {
        if (isWithin(width, true))
            return;
        Table narrower = *this;
        narrower.narrow();
        if (narrower.isWithin(width, true)) {
            *this = std::move(narrower);
            return;
        }
        Table shorter = *this;
        shorter.shortenCells();
        shorter.narrow();
        shorter.shortenLastCells(width, shortestLastCell);
        if (shorter.isWithin(width, true)) {
            *this = std::move(shorter);
            return;
        }
        if (!leaveOneOut())
            break;
    }
    if (isWithin(width, false))
        return; // only the header is too wide, and it stays
    shortenCells();
    narrow();
    shortenLastCells(width, 1);
}

void Table::narrow() {
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        std::size_t needed = cells(columns_[i].title);
        for (const auto& row : rows_)
            needed = std::max(needed, cells(row[i]));
        columns_[i].width = std::min(columns_[i].width, needed + 1);
    }
}

void Table::shortenCells() {
    for (auto& row : rows_) {
        for (std::size_t i = 0; i + 1 < row.size(); ++i) {
            if (columns_[i].width > 1)
                row[i] = shortened(row[i], columns_[i].width - 1);
        }
    }
}

// Shortens the last cell of each row by the excess width, but keeps at least `least` cells.
void Table::shortenLastCells(std::size_t width, std::size_t least) {
    const auto all = widths();
    for (auto& row : rows_) {
        const std::size_t taken = cells(line(row, all));
        std::string& last = row.back();
        const std::size_t excess = taken > width ? taken - width : 0;
        const std::size_t length = cells(last);
        last = shortened(last, std::max(length > excess ? length - excess : 1, least));
    }
}

bool Table::leaveOneOut() {
    const auto first = std::ranges::max_element(columns_, {}, &Column::leaveOut);
    if (first == columns_.end() || first->leaveOut == 0)
        return false;
    leaveOut(static_cast<std::size_t>(first - columns_.begin()));
    return true;
}

void Table::leaveOut(std::size_t column) {
    const auto at = static_cast<std::ptrdiff_t>(column);
    columns_.erase(columns_.begin() + at);
    for (auto& row : rows_)
        row.erase(row.begin() + at);
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

bool Table::isWithin(std::size_t width, bool withHeader) const {
    const auto all = widths();
    return (!withHeader || cells(line(titles(), all)) <= width) &&
           std::all_of(rows_.begin(), rows_.end(),
                       [&](const auto& row) { return cells(line(row, all)) <= width; });
}

} // namespace genv::ctl
