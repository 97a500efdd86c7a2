// SPDX-License-Identifier: LGPL-2.1-or-later
// remote enforce: rules over all hosts together. The decision is made here and executed on the
// hosts.
#include "client/genvctl/common/spellings.hpp"
#include "client/genvctl/common/stop_signals.hpp"
#include "client/genvctl/definition/definition.hpp"
#include "client/genvctl/options/enforce_options.hpp"
#include "client/genvctl/options/option_values.hpp"
#include "client/genvctl/remote/fleet_cycles.hpp"
#include "client/genvctl/remote/remote_commands.hpp"
#include "client/genvctl/reports/enforcement_report.hpp"
#include "client/genvctl/terminal/terminal.hpp"
#include "client/genvctl/terminal/terminal_text.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <limits>

namespace genv::ctl {

namespace {

struct FleetArguments : EnforceArguments {
    std::optional<std::uint32_t> maxHostsPerUser;
    std::vector<std::string> maxHostsForUser;
};

// The hosts report each user in one spelling, and the option may have another one.
std::map<std::string, std::uint32_t>
withSpellings(const std::map<std::string, std::uint32_t>& limits) {
    std::map<std::string, std::uint32_t> all = limits;
    for (const auto& [user, limit] : limits) {
        for (const std::string& name : spellingsOf(user))
            all.emplace(name, limit);
    }
    return all;
}

remote::FleetRules readRules(const FleetArguments& arguments) {
    remote::FleetRules rules;
    rules.switches = arguments.switches;
    rules.maxDevices = {
        arguments.maxDevicesPerUser,
        withSpellings(readUserLimits("--max-devices-for-user", arguments.maxDevicesForUser))};
    rules.maxHosts = {
        arguments.maxHostsPerUser,
        withSpellings(readUserLimits("--max-hosts-for-user", arguments.maxHostsForUser))};
    rules.terminate = mayTerminateProcesses();
    rules.isDryRun = arguments.isDryRun;
    return rules;
}

void printFleetActions(const GlobalOptions& global, const std::vector<FleetAction>& actions) {
    Json list = Json::array();
    for (const FleetAction& one : actions) {
        Json row{{"host", orNull(one.host)}};
        row.update(toJson(std::vector{one.action}).front());
        list.push_back(std::move(row));
    }
    if (printJson(global, list))
        return;
    for (const FleetAction& one : actions) {
        const std::string line =
            (one.host ? fmt::format("[{}] ", *one.host) : "") + shown(one.action.message) + '\n';
        if (isForStandardError(one.action.message))
            printAside(line);
        else
            print(line);
    }
}

// Whether a signal to stop arrives before this time.
bool isStoppedBefore(std::chrono::steady_clock::time_point moment, const StopSignals& stop) {
    for (;;) {
        const auto remaining =
            std::chrono::ceil<std::chrono::milliseconds>(moment - std::chrono::steady_clock::now());
        constexpr std::int64_t maxTimeout = std::numeric_limits<int>::max();
        pollfd watched{stop.descriptor(), POLLIN, 0};
        const auto time =
            static_cast<int>(std::clamp<std::int64_t>(remaining.count(), 0, maxTimeout));
        const int ready = poll(&watched, 1, time);
        if (ready > 0)
            return true;
        if (ready == 0 && remaining.count() <= maxTimeout)
            return false;
    }
}

void enforceOnHosts(Context& context, const HostOptions& options, const FleetArguments& arguments) {
    FleetCycles cycles(options, options.list(context.options.host), readRules(arguments));
    const std::chrono::seconds interval = readTimeOrSeconds("--interval", arguments.interval);
    if (interval.count() == 0) {
        printFleetActions(context.options, cycles.run());
    } else {
        const StopSignals stop;
        for (bool isStopped = false; !isStopped;) {
            const auto next = std::chrono::steady_clock::now() + interval;
            printFleetActions(context.options, cycles.run(stop.descriptor()));
            isStopped = isStoppedBefore(next, stop);
        }
        stop.take(); // a stop signal is the normal end of this command
    }
    if (const auto status = cycles.failed())
        throw Failure(*status, ""); // the failures are already reported
}

} // namespace

constexpr std::array remoteEnforceExamples{
    Example{"Show what one cycle would do",
            "genvctl remote -H gpu1,gpu2 enforce --max-hosts-per-user 1 --dry-run"},
};

void addRemoteEnforce(CLI::App& remote, Context& context, const SharedHostOptions& hosts) {
    CLI::App* command = addCommand(remote, "enforce", "Enforce rules and limits across all hosts",
                                   {.examples = remoteEnforceExamples});
    const auto arguments = std::make_shared<FleetArguments>();
    addEnforceOptions(*command, *arguments);
    addOption(*command, "--max-hosts-per-user", arguments->maxHostsPerUser,
              "Allow each user devices on up to N hosts", {.values = ValueKind::Free})
        ->type_name("N")
        ->group(limitOptions);
    addOption(*command, "--max-hosts-for-user", arguments->maxHostsForUser,
              "Allow USER devices on up to N hosts instead", {.values = ValueKind::UserLimit})
        ->type_name("USER=N")
        ->group(limitOptions);
    addDryRun(*command, *arguments);
    command->footer(
        "The command decides here, and each host carries out its part if polkit there\n"
        "allows it (-l root). Users are known by name, and their devices on all hosts\n"
        "are added up; hosts that do not answer do not count. Lines about a host begin\n"
        "with its name in brackets. With --json, prints an array for each cycle. For\n"
        "limits on a single machine use \"genvctl -H HOST enforce\" or its genvd.conf.");
    command->callback([&context, arguments, hosts] {
        context.command = [&context, arguments, hosts] {
            enforceOnHosts(context, *hosts, *arguments);
        };
    });
}

} // namespace genv::ctl
