// SPDX-License-Identifier: LGPL-2.1-or-later
// enforce: evaluates rules for all users, once or until it is stopped.
#include "client/genvctl/commands/commands.hpp"
#include "client/genvctl/common/stop_signals.hpp"
#include "client/genvctl/context/context.hpp"
#include "client/genvctl/definition/definition.hpp"
#include "client/genvctl/options/enforce_options.hpp"
#include "client/genvctl/options/option_values.hpp"
#include "client/genvctl/reports/enforcement_report.hpp"
#include "client/genvctl/terminal/terminal.hpp"
#include "core/base/user_database.hpp"
#include "core/settings/limit_definitions.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <string>

namespace genv::ctl {

namespace {

/// The command line. Values with units are text until they are parsed.
struct Arguments : EnforceArguments {
    std::map<std::string, std::uint32_t> counts; ///< limits by name
    std::map<std::string, std::string> amounts;
};

std::uint64_t readAmount(const core::LimitDefinition& limit, const std::string& text) {
    const std::string option = fmt::format("--{}", limit.name);
    if (limit.unit() == core::LimitUnit::Memory)
        return *readMemory(option.c_str(), text);
    return static_cast<std::uint64_t>(readTime(option.c_str(), text).count());
}

EnforceOptions readOptions(const Arguments& arguments) {
    EnforceOptions options;
    for (const auto& [rule, toggle] : core::switchedRules())
        options.setRule(std::string(rule.name), arguments.switches.*toggle.member);
    for (const auto& [name, count] : arguments.counts)
        options.setCount(name, count);
    if (arguments.maxDevicesPerUser)
        options.setCount("max-devices-per-user", *arguments.maxDevicesPerUser);
    for (const auto& [name, text] : arguments.amounts)
        options.setAmount(name, readAmount(*core::findLimit(name), text));
    return options
        .setMaxDevicesForUser(readUserLimits("--max-devices-for-user", arguments.maxDevicesForUser))
        .setDryRun(arguments.isDryRun)
        .setTerminate(mayTerminateProcesses());
}

// The service knows no better which user is meant.
void warnOfUnknownUsers(const std::vector<std::string>& texts) {
    for (const auto& [user, limit] : readUserLimits("--max-devices-for-user", texts)) {
        try {
            if (!core::uidOf(user))
                warn(fmt::format("unknown user \"{}\": --max-devices-for-user {}={} limits nobody",
                                 user, user, limit));
        } catch (const core::UserDatabaseError& error) {
            warn(fmt::format("cannot look up the user \"{}\": {}", user, error.what()));
        }
    }
}

void enforce(Context& context, const Arguments& arguments) {
    const EnforceOptions options = readOptions(arguments);
    if (!context.options.host)
        warnOfUnknownUsers(arguments.maxDevicesForUser);
    const std::chrono::seconds interval = readTimeOrSeconds("--interval", arguments.interval);
    if (interval.count() == 0) {
        printActions(context.options,
                     context.authorized([&](Client& client) { return client.enforce(options); }));
        return;
    }
    auto actions = std::optional(context.authorized(
        [&](Client& client) { return client.enforceRepeatedly(options, interval); }));
    const StopSignals stop;
    for (; actions; actions = context.client().nextEnforcement(stop.descriptor()))
        printActions(context.options, *actions);
    stop.take(); // a stop signal is the normal end of this command
}

template <typename Value>
void addLimit(CLI::App& command, const core::LimitDefinition& limit,
              std::map<std::string, Value>& values, const char* type) {
    Definition::of(command)
        .describe(command.add_option_function<Value>(
                      fmt::format("--{}", limit.name),
                      [&values, &limit](const Value& value) {
                          values.insert_or_assign(std::string(limit.name), value);
                      },
                      std::string(limit.help)),
                  {.values = ValueKind::Free})
        ->type_name(type)
        ->group(limitOptions);
}

// Adds all limits except the devices of a user, which "remote enforce" has as well.
void addMoreLimits(CLI::App& command, Arguments& arguments) {
    for (const core::LimitDefinition& limit : core::limitDefinitions()) {
        if (command.get_option_no_throw(fmt::format("--{}", limit.name)) != nullptr)
            continue;
        if (limit.unit() == core::LimitUnit::Count)
            addLimit(command, limit, arguments.counts, "N");
        else
            addLimit(command, limit, arguments.amounts,
                     limit.unit() == core::LimitUnit::Memory ? "AMOUNT" : "TIME");
    }
}

} // namespace

constexpr std::array enforceExamples{
    Example{"Show what one cycle would do",
            "genvctl enforce --dry-run --interval 0 --non-env-processes"},
    Example{"Allow each user two devices, and alice four",
            "genvctl enforce --max-devices-per-user 2 --max-devices-for-user alice=4"},
};

void addEnforce(CLI::App& app, Context& context) {
    CLI::App* command =
        addCommand(app, "enforce", "Enforce rules and limits on all users",
                   {.onCluster = cluster::aboutThisMachine("Slurm enforces limits of its own."),
                    .examples = enforceExamples});
    const auto arguments = std::make_shared<Arguments>();
    addEnforceOptions(*command, *arguments);
    addMoreLimits(*command, *arguments);
    addDryRun(*command, *arguments);
    command->footer(
        "Prints a line for each finding and action, and errors to standard error. With\n"
        "--json, prints an array for each cycle. These limits apply only while the\n"
        "command runs; genvd.conf sets permanent ones. With GENV_TERMINATE_PROCESSES=0\n"
        "in the environment, environments lose their GPUs and no process is signaled.\n"
        "--dry-run needs no authorization.");
    command->callback([&context, arguments] {
        context.command = [&context, arguments] { enforce(context, *arguments); };
    });
}

} // namespace genv::ctl
