// SPDX-License-Identifier: LGPL-2.1-or-later
// policy: checks a configuration of the service with the service's own parser.
#include "client/genvctl/commands/commands.hpp"
#include "client/genvctl/common/exit_status.hpp"
#include "client/genvctl/common/service_program.hpp"
#include "client/genvctl/common/system_bus.hpp"
#include "client/genvctl/context/context.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <sys/wait.h>

#include <cstdint>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace genv::ctl {

namespace {

// Returns what each user with an environment or a compute process uses, for the preview. Does not
// start the service: without it there is nobody to compare.
std::vector<std::string> findUse(Context& context) {
    try {
        if (!SystemBus().hasOwner(dbus::contract::busName))
            return {};
    } catch (const std::runtime_error&) { // no bus, or it does not answer
        return {};
    }
    std::set<std::uint32_t> users;
    for (const EnvironmentEntry& entry : context.client().environments())
        users.insert(entry.uid);
    for (const ComputeProcess& process : context.client().processes())
        users.insert(process.uid);
    std::vector<std::string> used;
    for (const std::uint32_t uid : users) {
        std::string text = fmt::format("{}:", uid);
        for (const auto& [name, limit] : context.client().limits(uid))
            text += fmt::format("{}={},", name, limit.used);
        used.push_back(std::move(text));
    }
    return used;
}

// The service prints the errors on standard error itself.
void check(Context& context, const std::string& file) {
    const int status = checkWithService(file, false, findUse(context)).status;
    if (WIFSIGNALED(status))
        throw Failure(ExitStatus::Failed,
                      fmt::format("{} was ended by signal {}", serviceProgram(), WTERMSIG(status)));
    if (status != 0)
        throw Failure(ExitStatus::Failed, "");
}

} // namespace

void addPolicy(CLI::App& app, Context& context) {
    CLI::App* policy = app.add_subcommand("policy", "Check the limits and rules in a file");
    policy->require_subcommand(1);
    CLI::App* command =
        policy->add_subcommand("check", "Check whether a configuration file is valid");
    const auto file = std::make_shared<std::string>();
    command->add_option("FILE", *file, "Check FILE, such as a changed copy of genvd.conf")
        ->required()
        ->type_name("");
    command->footer(fmt::format(
        "Exits with status 0 if the file is valid, and prints who would be over its\n"
        "limits, and what happens then. Otherwise exits with status 1 and prints the\n"
        "invalid lines to standard error. The command runs {}\n"
        "--check, or the program in the environment variable GENVD, and changes nothing.",
        GENV_SERVICE_PATH));
    command->callback(
        [&context, file] { context.command = [&context, file] { check(context, *file); }; });
}

} // namespace genv::ctl
