// SPDX-License-Identifier: LGPL-2.1-or-later
// Tables for people and as CSV. Columns have minimum widths, so that their positions stay stable
// for people and scripts. Text is cut only if the terminal is too narrow.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace genv::ctl {

class Table {
  public:
    struct Column {
        std::string title;
        /// In terminal cells, including the space after it. A longer cell widens the column. 0 is
        /// for the last column, which has no minimum.
        std::size_t width = 0;
        /// The order in which columns are omitted if the terminal is too narrow: the largest number
        /// first. 0 means that the column stays.
        int leaveOut = 0;
        /// Not a column of genv 1, whose CSV has only the others.
        bool isExtra = false;
    };

    explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

    /// Adds a row with one cell for each column. Cells are foreign text and are made safe here.
    void add(std::vector<std::string> cells);

    /// Returns the lines of the table. `before` and `after` enclose the header, for example for
    /// colour.
    [[nodiscard]] std::string text(bool header, const std::string& before = {},
                                   const std::string& after = {}) const;
    /// Removes the columns that programs do not expect.
    void leaveOutExtras();
    /// Makes the table fit a terminal of this width. First makes columns as narrow as their
    /// content. Then shortens cells with an ellipsis: the cells that are wider than their columns'
    /// minimum, then the last cell of each row that is still too wide. If this is not enough,
    /// omits columns.
    void fit(std::size_t width);
    /// Returns lines in the format of RFC 4180, but with Unix line ends.
    [[nodiscard]] std::string csv(bool header) const;

  private:
    [[nodiscard]] std::vector<std::string> titles() const;
    [[nodiscard]] std::vector<std::size_t> widths() const;
    [[nodiscard]] bool isWithin(std::size_t width, bool withHeader) const;
    void narrow();
    void shortenCells();
    void shortenLastCells(std::size_t width, std::size_t least);
    bool leaveOneOut();
    void leaveOut(std::size_t column);

    std::vector<Column> columns_;
    std::vector<std::vector<std::string>> rows_;
};

} // namespace genv::ctl
