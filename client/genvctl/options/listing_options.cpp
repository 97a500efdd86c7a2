// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/options/listing_options.hpp"

#include "client/genvctl/terminal/terminal.hpp"
#include "client/genvctl/terminal/terminal_text.hpp"

#include <CLI/CLI.hpp>

namespace genv::ctl {

void ListingOptions::addTo(CLI::App& command) {
    addFormatTo(command);
    command.add_flag("--timestamp", timestamp, "Show exact times instead of relative ones");
}

void ListingOptions::addFormatTo(CLI::App& command) {
    command.add_flag("--no-header", noHeader, "Do not print the table header");
    command.add_option("--format", format, "Print as csv or tui [default: tui]")
        ->check(CLI::IsMember({"csv", "tui"}).description(""))
        ->type_name("FORMAT");
}

void ListingOptions::addWideTo(CLI::App& command) {
    command.add_flag("--wide", wide, "Print all columns, regardless of the width");
}

bool ListingOptions::showsExtras() const {
    return wide || format != "csv";
}

std::string ListingOptions::time(Time time) const {
    if (timestamp)
        return ctl::timestamp(time);
    return relativeTime(time, currentTime());
}

void ListingOptions::print(const GlobalOptions& global, Table table) const {
    const bool header = !noHeader && !global.noLegend;
    if (!showsExtras())
        table.leaveOutExtras();
    if (format == "csv") {
        ctl::print(table.csv(header));
        return;
    }
    const auto width = terminalWidth();
    if (width && !wide && !global.full)
        table.fit(*width);
    const HeaderEmphasis emphasis = headerEmphasis();
    ctl::print(table.text(header, emphasis.before, emphasis.after));
}

void QueryOption::addTo(CLI::App& command, const std::vector<std::string>& known) {
    const std::string what = CLI::detail::join(known, ", ");
    command.add_option("--query,--queries", names, "Print these columns: " + what)
        ->required()
        ->check(CLI::IsMember(known).description(""))
        ->type_name("NAME");
}

void QueryOption::printLine(const std::vector<std::string>& cells) {
    ctl::print(shown(joined(cells, ",")) + '\n');
}

} // namespace genv::ctl
