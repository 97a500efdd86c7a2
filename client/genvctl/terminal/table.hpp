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
    };

    explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

    /// Adds a row with a cell for each column. Cells are foreign text; they are made safe here.
    void add(std::vector<std::string> cells);

    /// Lines with the columns side by side; `before` and `after` go around the header, such as for
    /// colour.
    [[nodiscard]] std::string text(bool header, const std::string& before = {},
                                   const std::string& after = {}) const;
    /// Shortens cells, with an ellipsis, where a row is wider than a terminal of so many cells: at
    /// first those that are wider than their columns were to be, then the last one of each row that
    /// is still too wide. The header stays.
    void fit(std::size_t width);
    /// Lines as RFC 4180 has them, but for the line ends, which are Unix's.
    [[nodiscard]] std::string csv(bool header) const;

  private:
    [[nodiscard]] std::vector<std::string> titles() const;
    [[nodiscard]] std::vector<std::size_t> widths() const;
    [[nodiscard]] bool isWithin(std::size_t width) const;

    std::vector<Column> columns_;
    std::vector<std::vector<std::string>> rows_;
};

} // namespace genv::ctl
