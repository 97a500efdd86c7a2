// SPDX-License-Identifier: LGPL-2.1-or-later
// queue: lists the requests that wait for devices, in their order, and cancels one.
#include "client/genvctl/commands/commands.hpp"
#include "client/genvctl/common/parents.hpp"
#include "client/genvctl/context/context.hpp"
#include "client/genvctl/options/listing_options.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <map>
#include <memory>
#include <optional>

namespace genv::ctl {

namespace {

void printQueue(Context& context, const ListingOptions& options) {
    const auto queue = context.client().queue();
    const auto parents =
        queue.empty() ? std::map<std::string, std::string>{} : context.client().parents();
    std::map<std::string, std::string> users;
    for (const EnvironmentEntry& entry : context.client().environments())
        users.emplace(entry.id, entry.user);

    Json json = Json::array();
    Table table({{"POSITION", 10},
                 {"ENV ID", 12},
                 {"USER", 16},
                 {"GPUS", 6},
                 {"SINCE", 17},
                 {"TICKET", 0}});
    for (const QueueEntry& entry : queue) {
        // The environment of a request that has just left the queue may be gone, so its name may be
        // unknown.
        const auto found = users.find(entry.environment);
        const std::string user = found == users.end() ? std::to_string(entry.uid) : found->second;
        const std::size_t position = json.size() + 1;
        const auto within = parentOf(parents, entry.environment);
        json.push_back({{"position", position},
                        {"ticket", entry.ticket},
                        {"environment", entry.environment},
                        {"uid", entry.uid},
                        {"user", user},
                        {"gpus", entry.gpus},
                        {"since", toJson(entry.since)},
                        {"parent", orNull(within)}});
        table.add({std::to_string(position), entry.environment,
                   fmt::format("{}({})", user, entry.uid), std::to_string(entry.gpus),
                   options.time(entry.since) +
                       (within && options.format != "csv" ? " (within " + *within + ")" : ""),
                   std::to_string(entry.ticket)});
    }
    if (!context.printJson(json))
        options.print(context, table);
}

} // namespace

void addQueue(CLI::App& app, Context& context) {
    CLI::App* command = app.add_subcommand("queue", "List the users who wait for GPUs");
    const auto options = std::make_shared<ListingOptions>();
    const auto ticket = std::make_shared<std::optional<std::uint64_t>>();
    options->addTo(*command);
    command->add_option("--cancel", *ticket, "Cancel the wait with this ticket")
        ->type_name("TICKET");
    command->footer("The GPUS column shows how many more GPUs the request waits for.");
    command->callback([&context, options, ticket] {
        context.command = [&context, options, ticket] {
            if (!*ticket) {
                printQueue(context, *options);
                return;
            }
            const std::uint64_t wanted = **ticket;
            context.authorised([&](Client& client) { client.cancelWait(wanted); });
        };
    });
}

} // namespace genv::ctl
