// SPDX-License-Identifier: LGPL-2.1-or-later
// policy: checks a configuration of the service with the service's own parser.
#include "client/genvctl/commands/commands.hpp"
#include "client/genvctl/common/exit_status.hpp"
#include "client/genvctl/common/service_program.hpp"
#include "client/genvctl/context/context.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <sys/wait.h>

#include <memory>
#include <string>

namespace genv::ctl {

namespace {

// The service prints the errors on standard error itself.
void check(const std::string& file) {
    const int status = checkWithService(file, false).status;
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
    command->footer(
        fmt::format("Exits with status 0 if the file is valid. Otherwise exits with status 1 and\n"
                    "prints the invalid lines to standard error. The command runs\n"
                    "{} --check, or the program in the\n"
                    "environment variable GENVD, and changes nothing.",
                    GENV_SERVICE_PATH));
    command->callback([&context, file] { context.command = [file] { check(*file); }; });
}

} // namespace genv::ctl
