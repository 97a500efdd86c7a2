// SPDX-License-Identifier: LGPL-2.1-or-later
// queue: lists the requests that wait for devices, in the order in force, says why they wait, and
// cancels one.
#include "client/genvctl/commands/commands.hpp"
#include "client/genvctl/context/context.hpp"
#include "client/genvctl/definition/definition.hpp"
#include "client/genvctl/environment/loans.hpp"
#include "client/genvctl/objects/machine_objects.hpp"
#include "client/genvctl/options/listing_options.hpp"
#include "client/genvctl/reports/queue_report.hpp"
#include "client/genvctl/terminal/terminal.hpp"
#include "client/genvctl/terminal/terminal_text.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <array>
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

bool isFair(const std::vector<WaitingRequest>& queue) {
    return !queue.empty() && queue.front().description.order == "fair";
}

// Returns a note on a request: its parent, its taking, or for whom its environment is parked.
std::string noteOn(const WaitingRequest& request, const LoanStates& loans) {
    const QueueDescription& known = request.description;
    if (request.taking)
        return fmt::format(" ({})", takingText(*request.taking));
    if (request.resumes)
        return fmt::format(" ({})", parkingNote(loans, known.entry.environment, currentTime()));
    return known.parent ? " (within " + *known.parent + ")" : std::string();
}

void printTable(const Context& context, const std::vector<WaitingRequest>& queue,
                const LoanStates& loans, const ListingOptions& options) {
    const bool isCsv = options.format == "csv";
    Table table({{"POSITION", 10},
                 {"ENV ID", 12, 1},
                 {"USER", 16},
                 {"GPUS", 6},
                 {"SINCE", 17},
                 {"TICKET", 0, 2}});
    for (const WaitingRequest& waiting : queue) {
        const QueueDescription& request = waiting.description;
        const QueueEntry& entry = request.entry;
        const std::string note = isCsv ? "" : noteOn(waiting, loans);
        table.add({std::to_string(request.position), entry.environment,
                   fmt::format("{}({})", request.user, entry.uid), std::to_string(entry.gpus),
                   options.time(entry.since) + note, std::to_string(entry.ticket)});
    }
    options.print(context.options, table);
    if (isFair(queue) && !isCsv && !options.noHeader)
        fmt::print("In fair order: users who have used less for their weight are first.\n");
}

void printQueue(Context& context, const QueueArguments& arguments) {
    const auto queue = context.client().queue();
    if (context.options.json != JsonMode::Off) {
        const MachineAnswers answers{context.client().machine(), queue, std::nullopt};
        printJson(context.options, MachineObjects(answers).queue());
        return;
    }
    const LoanStates loans = loansIn(context.client(), queue);
    if (arguments.why)
        fmt::print("{}",
                   queueReport(queue, loans, currentTime(), terminalWidth().value_or(reportWidth)));
    else
        printTable(context, queue, loans, arguments.listing);
}

} // namespace

constexpr std::array queueExamples{
    Example{"Show the queue", "genvctl queue"},
    Example{"Show it with exact times", "genvctl queue --timestamp"},
};

void addQueue(CLI::App& app, Context& context) {
    CLI::App* command = addCommand(app, "queue", "List the users who wait for GPUs",
                                   {.onCluster = cluster::mapped, .examples = queueExamples});
    const auto arguments = std::make_shared<QueueArguments>();
    arguments->listing.addTo(*command);
    addFlag(
        *command, "--why", arguments->why, "Show use, weight and reason of each request",
        {.onCluster = cluster::refused("Slurm orders the jobs of a cluster itself",
                                       "\"squeue --start\" and \"sprio\" tell why a job waits.")});
    addOption(*command, "--cancel", arguments->ticket, "Cancel the wait with this ticket",
              {.values = ValueKind::Ticket,
               .onCluster = cluster::refused(
                   "Slurm's queue holds jobs, which have no tickets",
                   "\"genvctl deactivate --id slurm-JOBID\" takes a job out of it; with "
                   "\"--cluster none\" the ticket is one of this machine's.")})
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
