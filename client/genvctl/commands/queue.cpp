// SPDX-License-Identifier: LGPL-2.1-or-later
// queue: lists the requests that wait for devices, in the order in force, says why they wait, and
// cancels one.
#include "client/genvctl/commands/commands.hpp"
#include "client/genvctl/context/context.hpp"
#include "client/genvctl/options/listing_options.hpp"
#include "client/genvctl/reports/queue_report.hpp"
#include "client/genvctl/terminal/terminal.hpp"
#include "client/genvctl/terminal/text.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <vector>

namespace genv::ctl {

namespace {

constexpr std::size_t reportWidth = 80;

struct QueueArguments {
    ListingOptions listing;
    std::optional<std::uint64_t> ticket; ///< to cancel
    bool why = false;
};

Json jsonOf(const QueueDescription& request) {
    return {{"position", request.position},
            {"ticket", request.entry.ticket},
            {"environment", request.entry.environment},
            {"uid", request.entry.uid},
            {"user", request.user},
            {"gpus", request.entry.gpus},
            {"since", toJson(request.entry.since)},
            {"parent", orNull(request.parent)}};
}

bool isFair(const std::vector<QueueDescription>& queue) {
    return !queue.empty() && queue.front().order == "fair";
}

void printTable(const Context& context, const std::vector<QueueDescription>& queue,
                const ListingOptions& options) {
    const bool isCsv = options.format == "csv";
    Table table({{"POSITION", 10},
                 {"ENV ID", 12, 1},
                 {"USER", 16},
                 {"GPUS", 6},
                 {"SINCE", 17},
                 {"TICKET", 0, 2}});
    for (const QueueDescription& request : queue) {
        const QueueEntry& entry = request.entry;
        const std::string within =
            request.parent && !isCsv ? " (within " + *request.parent + ")" : "";
        table.add({std::to_string(request.position), entry.environment,
                   fmt::format("{}({})", request.user, entry.uid), std::to_string(entry.gpus),
                   options.time(entry.since) + within, std::to_string(entry.ticket)});
    }
    options.print(context, table);
    if (isFair(queue) && !isCsv && !options.noHeader)
        fmt::print("In fair order: users who have used less for their weight are first.\n");
}

void printQueue(Context& context, const QueueArguments& arguments) {
    const auto queue = context.client().describeQueue();
    Json json = Json::array();
    for (const QueueDescription& request : queue) {
        json.push_back(jsonOf(request));
        if (arguments.why)
            json.back().update(standingJson(request));
    }
    if (context.printJson(json))
        return;
    if (arguments.why)
        fmt::print("{}", queueReport(queue, currentTime(), terminalWidth().value_or(reportWidth)));
    else
        printTable(context, queue, arguments.listing);
}

} // namespace

void addQueue(CLI::App& app, Context& context) {
    CLI::App* command = app.add_subcommand("queue", "List the users who wait for GPUs");
    const auto arguments = std::make_shared<QueueArguments>();
    arguments->listing.addTo(*command);
    command->add_flag("--why", arguments->why, "Show use, weight and reason of each request");
    command->add_option("--cancel", arguments->ticket, "Cancel the wait with this ticket")
        ->type_name("TICKET");
    command->footer("The GPUS column shows how many more GPUs the request waits for.");
    command->callback([&context, arguments] {
        context.command = [&context, arguments] {
            if (!arguments->ticket) {
                printQueue(context, *arguments);
                return;
            }
            const std::uint64_t wanted = *arguments->ticket;
            context.authorized([&](Client& client) { client.cancelWait(wanted); });
        };
    });
}

} // namespace genv::ctl
