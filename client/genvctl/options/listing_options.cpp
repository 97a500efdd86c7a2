// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/options/listing_options.hpp"

#include "client/genvctl/definition/definition.hpp"
#include "client/genvctl/terminal/terminal.hpp"
#include "client/genvctl/terminal/terminal_text.hpp"

#include <CLI/CLI.hpp>

namespace genv::ctl {

void ListingOptions::addTo(CLI::App& command) {
    addFormatTo(command);
    addFlag(command, "--timestamp", timestamp, "Show exact times instead of relative ones",
            {.onCluster = cluster::mapped});
}

void ListingOptions::addFormatTo(CLI::App& command) {
    addFlag(command, "--no-header", noHeader, "Do not print the table header",
            {.onCluster = cluster::mapped});
    addOption(command, "--format", format, "Print as csv or tui [default: tui]",
              {.values = OneOf{"tui", "csv"}, .onCluster = cluster::mapped})
        ->check(CLI::IsMember({"csv", "tui"}).description(""))
        ->type_name("FORMAT");
}

void ListingOptions::addWideTo(CLI::App& command) {
    addFlag(command, "--wide", wide, "Print all columns, regardless of the width",
            {.onCluster = cluster::mapped});
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

void QueryOption::addTo(CLI::App& command, const OneOf& known) {
    const std::vector<std::string> words(known.begin(), known.end());
    const std::string what = CLI::detail::join(words, ", ");
    addOption(command, "--query,--queries", names, "Print these columns: " + what,
              {.values = known})
        ->required()
        ->check(CLI::IsMember(words).description(""))
        ->type_name("NAME");
}

void QueryOption::printLine(const std::vector<std::string>& cells) {
    ctl::print(shown(joined(cells, ",")) + '\n');
}

} // namespace genv::ctl
