// SPDX-License-Identifier: LGPL-2.1-or-later
// policy: whether a configuration of the service makes sense, as the service itself reads it.
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

// The service says what is wrong on standard error itself.
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
    CLI::App* policy = app.add_subcommand("policy", "Check the limits and rules of a file");
    policy->require_subcommand(1);
    CLI::App* command =
        policy->add_subcommand("check", "Tell whether a configuration file is valid");
    const auto file = std::make_shared<std::string>();
    command->add_option("FILE", *file, "Such as a changed copy of genvd.conf")
        ->required()
        ->type_name("");
    command->footer(fmt::format(
        "Exit status 0 where it is valid; else 1, and standard error says which lines are\n"
        "wrong. It is read by {} --check, or by\n"
        "the program that the environment variable GENVD names. Nothing is changed.",
        GENV_SERVICE_PATH));
    command->callback([&context, file] { context.command = [file] { check(*file); }; });
}

} // namespace genv::ctl
