// SPDX-License-Identifier: LGPL-2.1-or-later
// status and home: the environment and the folder of this shell.
#include "client/genvctl/commands/commands.hpp"
#include "client/genvctl/common/exit_status.hpp"
#include "client/genvctl/context/context.hpp"
#include "client/genvctl/definition/definition.hpp"
#include "client/genvctl/environment/loans.hpp"
#include "client/genvctl/objects/machine_objects.hpp"
#include "client/genvctl/options/project.hpp"
#include "client/genvctl/terminal/terminal.hpp"
#include "client/genvctl/terminal/terminal_text.hpp"
#include "core/sentences/sentences.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <array>
#include <memory>

namespace genv::ctl {

namespace {

// Describes an environment that is parked, parks or resumes, with its problem if it has one.
std::string parkingText(const ParkingState& parking, const core::ParkedWhy& why) {
    std::string text;
    if (parking.state == "parked") {
        const std::string because = core::becauseParked(why);
        text = fmt::format("Parked {}{}: its programs hold {} of host memory; {}\n",
                           parking.since ? relativeTime(*parking.since, currentTime()) : "",
                           because.empty() ? "" : " " + because,
                           core::nameMemory(core::Bytes{parking.memoryBytes}),
                           core::describeComeback(why));
    } else if (parking.state != "active") {
        text =
            fmt::format("{}: {} of {} moved\n", parking.state == "parking" ? "Parking" : "Resuming",
                        core::nameMemory(core::Bytes{parking.movedBytes}),
                        core::nameMemory(core::Bytes{parking.bytesToMove}));
    }
    return parking.problem.empty() ? text : text + "Problem: " + shown(parking.problem) + '\n';
}

std::string statusText(const Environment& environment, const LoanStates& loans) {
    const ParkingState& parking = environment.parking;
    const auto orUnset = [](const std::optional<std::string>& text) {
        return shown(text.value_or("N/A"));
    };
    const std::string devices = environment.devices.empty() ? "No GPU is attached"
                                                            : "Attached to GPUs at indices " +
                                                                  joined(environment.devices, ",");
    const std::string end = environment.expires
                                ? fmt::format("Lease ends: {} ({})\n",
                                              relativeFuture(*environment.expires, currentTime()),
                                              core::nameTime(*environment.expires))
                                : "";
    const std::string lingering =
        environment.lingering && parking.state == "active"
            ? fmt::format("Lingering: no shell is registered any more; {} still {} its GPUs\n",
                          core::nameProcesses(environment.processes),
                          environment.processes.size() == 1 ? "uses" : "use")
            : "";
    return fmt::format("Environment is active ({})\n"
                       "{}\n"
                       "{}{}{}"
                       "\n"
                       "Configuration\n"
                       "    Name: {}\n"
                       "    GPUs configured: {}\n"
                       "    GPU memory capacity: {}\n"
                       "{}{}",
                       shown(environment.id), devices, lingering,
                       parkingText(parking, whyParked(loans, environment.id)), end,
                       orUnset(fieldText(environment.configuration, Field::Name)),
                       orUnset(fieldText(environment.configuration, Field::Gpus)),
                       orUnset(fieldText(environment.configuration, Field::GpuMemory)),
                       environment.overSubscribable ? "    Over-subscribable: yes\n" : "",
                       environment.preemptible == "no"
                           ? ""
                           : fmt::format("    Preemptible: {}\n", environment.preemptible));
}

void status(Context& context) {
    const auto environment = context.activeEnvironment();
    if (!environment) {
        if (!printJson(context.options, nullptr))
            print("Environment is not active\n");
        return;
    }
    if (context.options.json != JsonMode::Off)
        printJson(context.options, environmentObject(context.client(), environment->id));
    else
        print(statusText(*environment, loanStates(context.client(), {*environment})));
}

void home(bool quiet) {
    const auto folder = projectFolder();
    if (folder)
        print(shown(folder->string()) + '\n');
    else if (quiet)
        throw Failure(ExitStatus::Failed, "");
    else
        requireProjectFolder();
}

} // namespace

constexpr std::array statusExamples{
    Example{"Show the environment of this shell", "genv status"},
    Example{"Print it for a script", "genv status --json"},
};

void addStatus(CLI::App& app, Context& context) {
    addCommand(app, "status", "Show the environment of this shell", {.examples = statusExamples})
        ->callback([&context] { context.command = [&context] { status(context); }; });
}

constexpr std::array homeExamples{
    Example{"Print the .genv directory", "genvctl home"},
};

void addHome(CLI::App& app, Context& context) {
    CLI::App* command = addCommand(app, "home", "Print the path of the .genv folder in use",
                                   {.examples = homeExamples});
    const auto quiet = std::make_shared<bool>(false);
    command->add_flag("-q,--quiet", *quiet, "Print no error if there is none");
    command->callback([&context, quiet] { context.command = [quiet] { home(*quiet); }; });
}

} // namespace genv::ctl
