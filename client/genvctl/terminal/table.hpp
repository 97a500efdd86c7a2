// SPDX-License-Identifier: LGPL-2.1-or-later
// Tables, for people and as CSV. Columns have least widths, so that what people and scripts know
// stays where it was; nothing is cut off but what a terminal is too narrow for.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace genv::ctl {

class Table {
  public:
    struct Column {
        std::string title;
        /// In terminal cells, with the space behind it; a longer cell makes the column wider. 0:
        /// the last one, as long as it is.
        std::size_t width = 0;
        /// Which column goes first where a terminal is too narrow: the one with the largest number.
        /// 0: it stays.
        int leaveOut = 0;
        /// Only people see it, and who asks for it: what programs read has the other columns.
        bool isExtra = false;
    };

    explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

    /// Adds a row with a cell for each column. Cells are foreign text; they are made safe here.
    void add(std::vector<std::string> cells);

    /// Lines with the columns side by side; `before` and `after` go around the header, such as for
    /// colour.
    [[nodiscard]] std::string text(bool header, const std::string& before = {},
                                   const std::string& after = {}) const;
    /// Leaves out the columns that programs do not expect.
    void leaveOutExtras();
    /// Makes the table fit a terminal of so many cells. Shortens cells, with an ellipsis: at first
    /// those that are wider than their columns were to be, then the last one of each row that is
    /// still too wide. Leaves columns out where that is not enough.
    void fit(std::size_t width);
    /// Lines as RFC 4180 has them, but for the line ends, which are Unix's.
    [[nodiscard]] std::string csv(bool header) const;

  private:
    [[nodiscard]] std::vector<std::string> titles() const;
    [[nodiscard]] std::vector<std::size_t> widths() const;
    [[nodiscard]] bool isWithin(std::size_t width, bool withHeader) const;
    void shortenCells();
    void shortenLastCells(std::size_t width, std::size_t least);
    bool leaveOneOut();
    void leaveOut(std::size_t column);

    std::vector<Column> columns_;
    std::vector<std::vector<std::string>> rows_;
};

} // namespace genv::ctl
