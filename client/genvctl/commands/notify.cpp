// SPDX-License-Identifier: LGPL-2.1-or-later
// notify: shows where messages go beyond the desktop, and tries it.
#include "client/genvctl/commands/commands.hpp"
#include "client/genvctl/common/exit_status.hpp"
#include "client/genvctl/context/context.hpp"
#include "client/genvctl/definition/definition.hpp"
#include "client/genvctl/messages/trial.hpp"
#include "client/genvctl/options/listing_options.hpp"
#include "client/genvctl/terminal/terminal.hpp"
#include "client/messages/files/message_places.hpp"
#include "client/messages/files/spool.hpp"
#include "client/messages/files/trusted_file.hpp"
#include "client/messages/model/webhook_url.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <array>
#include <memory>
#include <optional>
#include <string>

namespace genv::ctl {

namespace {

using messages::Channel;
using messages::DeliveryTarget;

std::optional<messages::ReadConfiguration> readOwn() {
    if constexpr (!GENV_WITH_NOTIFY)
        throw Failure(ExitStatus::Failed, "this build of genv sends no messages",
                      "Build genv with -DGENV_WITH_NOTIFY=ON.");
    try {
        return messages::readConfiguration();
    } catch (const messages::UntrustedFile& error) {
        throw Failure(ExitStatus::Failed, error.what());
    } catch (const messages::ConfigurationError& error) {
        throw Failure(ExitStatus::Failed, error.what());
    }
}

std::string shownValue(Channel channel, const DeliveryTarget& target) {
    return channel == Channel::Webhook ? messages::shownUrl(target.value) : target.value;
}

std::string shownFormat(Channel channel, const DeliveryTarget& target) {
    return channel == Channel::Webhook ? std::string(nameOf(target.format)) : "";
}

Json targetJson(Channel channel, const DeliveryTarget& target) {
    Json kinds = Json::array();
    for (const messages::Kind kind : target.kinds)
        kinds.push_back(nameOf(kind));
    return {{"channel", wordOf(channel)},
            {"to", shownValue(channel, target)},
            {"format", channel == Channel::Webhook ? Json(nameOf(target.format)) : Json(nullptr)},
            {"kinds", std::move(kinds)},
            {"quiet", target.quiet ? Json(textOf(*target.quiet)) : Json(nullptr)},
            {"names", target.names},
            {"waiting", messages::countWaiting(messages::spoolFolder(channel))}};
}

Table targetsTable(const messages::Configuration& targets) {
    Table table({{"CHANNEL", 9},
                 {"TO", 30},
                 {"FORMAT", 8, 1},
                 {"QUIET", 12, 2},
                 {"NAMES", 6, 3},
                 {"WAITING", 8, 4},
                 {"KINDS"}});
    for (const auto& [channel, target] : targets)
        table.add({std::string(wordOf(channel)), shownValue(channel, target),
                   shownFormat(channel, target), target.quiet ? textOf(*target.quiet) : "",
                   target.names ? "yes" : "no",
                   std::to_string(messages::countWaiting(messages::spoolFolder(channel))),
                   target.kinds == messages::allKinds() ? "all" : namesOf(target.kinds)});
    return table;
}

void adviseOnUse(const messages::ReadConfiguration& read, bool isRunning) {
    if (read.configuration.contains(Channel::Webhook) && !read.isPrivate)
        warn(fmt::format("others can read the URL in {}", messages::configurationFile().native()),
             "\"chmod 600\" on that file keeps it secret.");
    if (!isRunning)
        warn("genv-notify-core does not run, so no messages are sent",
             "\"systemctl --user start genv-notify-core.path\" starts it.");
}

void showTargets(const GlobalOptions& global, const ListingOptions& listing) {
    const std::string file = messages::configurationFile().native();
    const auto read = readOwn();
    const messages::Configuration targets = read ? read->configuration : messages::Configuration();
    const bool isRunning = read && isCoreRunning();
    Json list = Json::array();
    for (const auto& [channel, target] : targets)
        list.push_back(targetJson(channel, target));
    if (printJson(global, {{"file", file}, {"running", isRunning}, {"targets", std::move(list)}}))
        return;
    listing.print(global, targetsTable(targets));
    if (targets.empty())
        printNoteForPerson(fmt::format("Messages go nowhere; {} would say where.", file));
    else
        adviseOnUse(*read, isRunning);
}

void tryAll(const GlobalOptions& global) {
    const auto read = readOwn();
    if (!read || read->configuration.empty())
        throw Failure(ExitStatus::Failed,
                      fmt::format("{} names no target", messages::configurationFile().native()),
                      "notify.conf(5) shows examples.");
    const auto results = tryTargets(read->configuration);
    bool isGood = true;
    Json list = Json::array();
    for (const auto& [channel, trouble] : results) {
        isGood = isGood && trouble.empty();
        list.push_back({{"channel", wordOf(channel)},
                        {"sent", trouble.empty()},
                        {"reason", trouble.empty() ? Json(nullptr) : Json(trouble)}});
    }
    if (!printJson(global, list)) {
        for (const auto& [channel, trouble] : results)
            if (trouble.empty())
                print(fmt::format("[{}]: a test was sent\n", nameOf(channel)));
            else
                complain(fmt::format("[{}]: the test failed: {}", nameOf(channel), trouble));
        adviseOnUse(*read, isCoreRunning());
    }
    if (!isGood)
        throw Failure(ExitStatus::Failed, "");
}

constexpr std::array notifyShowExamples{
    Example{"Print it for a script", "genvctl notify show --json"},
};

void addShow(CLI::App& notify, Context& context) {
    CLI::App* command =
        addCommand(notify, "show", "List where your messages go", {.examples = notifyShowExamples});
    const auto listing = std::make_shared<ListingOptions>();
    listing->addFormatTo(*command);
    command->callback([&context, listing] {
        context.command = [&context, listing] { showTargets(context.options, *listing); };
    });
}

constexpr std::array notifyTestExamples{
    Example{"Send a message by each way that is set", "genvctl notify test"},
};

void addTest(CLI::App& notify, Context& context) {
    CLI::App* command =
        addCommand(notify, "test", "Send a test to each of them", {.examples = notifyTestExamples});
    command->callback([&context] { context.command = [&context] { tryAll(context.options); }; });
}

} // namespace

constexpr std::array notifyExamples{
    Example{"Show where your messages go", "genvctl notify show"},
};

void addNotify(CLI::App& app, Context& context) {
    CLI::App* notify = addCommand(app, "notify", "Show and test messages beyond the desktop",
                                  {.examples = notifyExamples});
    notify->require_subcommand(1);
    notify->footer("notify.conf(5) describes ~/.config/genv/notify.conf.");
    addShow(*notify, context);
    addTest(*notify, context);
}

} // namespace genv::ctl
