// SPDX-License-Identifier: LGPL-2.1-or-later
// The options of commands that print lists, and how a list is printed.
#pragma once

#include "client/genvctl/context/context.hpp"
#include "client/genvctl/definition/value_source.hpp"
#include "client/genvctl/terminal/table.hpp"

#include <string>

namespace CLI {
class App;
}

namespace genv::ctl {

struct ListingOptions {
    bool noHeader = false;
    bool timestamp = false;
    bool wide = false;
    std::string format = "tui";

    /// Adds --no-header, --timestamp and --format. This object must outlive the parsing.
    void addTo(CLI::App& command);
    /// The same without --timestamp, for lists without times.
    void addFormatTo(CLI::App& command);

    /// Adds --wide, for a list with extra columns.
    void addWideTo(CLI::App& command);

    /// Whether the columns that genv 1 has not are shown, if there is room for them. CSV has none
    /// of them, unless they are asked for.
    [[nodiscard]] bool showsExtras() const;

    /// Returns a time in the format of this list.
    [[nodiscard]] std::string time(Time time) const;

    /// Prints a table according to the options.
    void print(const GlobalOptions& global, Table table) const;
};

/// A list of names for --query, checked against the supported names.
struct QueryOption {
    std::vector<std::string> names;

    void addTo(CLI::App& command, const OneOf& known);

    /// Prints a line for each thing, with its cells separated by commas. `cell` returns the cell of
    /// a thing by name.
    template <typename Things, typename Cell>
    void print(const Things& things, Cell cell) const {
        for (const auto& thing : things) {
            std::vector<std::string> cells;
            for (const std::string& name : names)
                cells.push_back(cell(thing, name));
            printLine(cells);
        }
    }

  private:
    static void printLine(const std::vector<std::string>& cells);
};

} // namespace genv::ctl
