// SPDX-License-Identifier: LGPL-2.1-or-later
// isolation: shows whether the kernel refuses GPUs to users who do not hold them, lists the refused
// opens, and lets an administrator suspend or resume isolation.
#include "client/genvctl/commands/commands.hpp"
#include "client/genvctl/common/exit_status.hpp"
#include "client/genvctl/context/context.hpp"
#include "client/genvctl/definition/definition.hpp"
#include "client/genvctl/options/listing_options.hpp"
#include "client/genvctl/reports/isolation_report.hpp"
#include "client/genvctl/reports/user_names.hpp"
#include "client/genvctl/terminal/terminal.hpp"

#include <CLI/CLI.hpp>

#include <array>
#include <memory>
#include <optional>

namespace genv::ctl {

namespace {

void showIsolation(Context& context) {
    const IsolationState state = context.client().isolation();
    if (!printJson(context.options, isolationJson(state)))
        print(isolationText(state));
    if (!isAsWanted(state))
        throw Failure(ExitStatus::Failed, ""); // the sentence above has the reason
}

void suspendIsolation(Context& context) {
    context.authorized([](Client& client) { client.suspendIsolation(true); });
    const IsolationState state = context.client().isolation();
    if (!printJson(context.options, isolationJson(state)))
        print(isolationSentence(state) + '\n');
}

void resumeIsolation(Context& context) {
    context.authorized([](Client& client) { client.suspendIsolation(false); });
    const IsolationState state = context.client().isolation();
    if (!printJson(context.options, isolationJson(state)))
        print(isolationSentence(state) + '\n');
    if (const IsolationTrouble trouble = isolationTrouble(state); !trouble.what.empty())
        throw Failure(ExitStatus::Failed, trouble.what, trouble.advice);
}

void showRefusals(Context& context, const ListingOptions& options, bool all) {
    const bool everybody = all || context.uid() == 0;
    const auto refused =
        context.authorized([&](Client& client) { return client.refusedOpens(everybody); });
    const UserNames user = userNames(context);
    if (!printJson(context.options, refusalJson(refused, user)))
        options.print(context.options,
                      refusalTable(refused, user, [&](Time time) { return options.time(time); }));
}

constexpr std::array isolationStatusExamples{
    Example{"Use the status in a script", "genvctl isolation status --json"},
};

void addIsolationStatus(CLI::App& isolation, Context& context) {
    CLI::App* command = addCommand(isolation, "status", "Show whether isolation is in force",
                                   {.examples = isolationStatusExamples});
    command->footer(
        "Exits with status 0 if the mode that Isolation= in genvd.conf sets is in force,\n"
        "also for Isolation=none, and with 1 if it is not, or only for some GPUs.");
    command->callback([&context] { context.command = [&context] { showIsolation(context); }; });
}

constexpr std::array isolationOnExamples{
    Example{"Resume isolation", "genvctl isolation on"},
};

constexpr std::array isolationOffExamples{
    Example{"Suspend isolation until the next boot", "genvctl isolation off"},
};

void addIsolationSwitch(CLI::App& isolation, Context& context) {
    addCommand(isolation, "on", "Resume isolation", {.examples = isolationOnExamples})
        ->callback([&context] { context.command = [&context] { resumeIsolation(context); }; });
    addCommand(isolation, "off", "Suspend isolation until the next boot",
               {.examples = isolationOffExamples})
        ->callback([&context] { context.command = [&context] { suspendIsolation(context); }; });
}

constexpr std::array isolationRefusalsExamples{
    Example{"Show the refusals of all users", "genvctl isolation refusals --all"},
};

void addIsolationRefusals(CLI::App& isolation, Context& context) {
    CLI::App* command =
        addCommand(isolation, "refusals", "List GPUs that the kernel refused to open",
                   {.examples = isolationRefusalsExamples});
    const auto options = std::make_shared<ListingOptions>();
    const auto all = std::make_shared<bool>(false);
    options->addTo(*command);
    command->add_flag("--all", *all, "Include all users [default for root]");
    command->footer(
        "TIMES counts refused opens since the machine started. With Isolation=watch, it\n"
        "counts opens that the kernel would have refused.");
    command->callback([&context, options, all] {
        context.command = [&context, options, all] { showRefusals(context, *options, *all); };
    });
}

} // namespace

constexpr std::array isolationExamples{
    Example{"Show whether isolation is in force", "genvctl isolation status"},
    Example{"Show which GPUs you were refused", "genvctl isolation refusals"},
};

void addIsolation(CLI::App& app, Context& context) {
    CLI::App* isolation = addCommand(app, "isolation", "Show or switch the isolation of GPUs",
                                     {.examples = isolationExamples});
    isolation->require_subcommand(1);
    addIsolationStatus(*isolation, context);
    addIsolationSwitch(*isolation, context);
    addIsolationRefusals(*isolation, context);
    isolation->footer("To enable isolation permanently, set Isolation=watch or Isolation=user in\n"
                      "genvd.conf.");
}

} // namespace genv::ctl
