// SPDX-License-Identifier: LGPL-2.1-or-later
// The options of the commands that list things, and how a list is printed.
#pragma once

#include "client/genvctl/context/context.hpp"
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
    /// The same without --timestamp, for what has no times.
    void addFormatTo(CLI::App& command);

    /// Adds --wide, for a list with extra columns.
    void addWideTo(CLI::App& command);

    /// Whether the extra columns are shown, as far as there is room for them.
    [[nodiscard]] bool showsExtras() const;

    /// A moment as this list shows it.
    [[nodiscard]] std::string time(Time time) const;

    /// Prints a table as the options want it.
    void print(const Context& context, Table table) const;
};

/// A list of names for --query, checked against what can be asked for.
struct QueryOption {
    std::vector<std::string> names;

    void addTo(CLI::App& command, const std::vector<std::string>& known);

    /// Prints a line for each thing: its cells, separated by commas. `cell` gives a thing's cell by
    /// name.
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
