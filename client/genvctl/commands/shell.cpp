// SPDX-License-Identifier: LGPL-2.1-or-later
// shell: the code that makes a shell know genv.
#include "client/genvctl/commands/commands.hpp"
#include "client/genvctl/context.hpp"
#include "client/genvctl/exit_status.hpp"
#include "client/genvctl/shell_script.hpp"
#include "client/genvctl/terminal.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <memory>

namespace genv::ctl {

namespace {

// What is known not to understand the code. Whoever else asks, such as a test or an editor, gets
// it.
constexpr std::array otherShells{"sh",  "dash", "ash",  "busybox", "zsh", "fish",
                                 "ksh", "mksh", "tcsh", "csh",     "nu",  "elvish"};

// The name of the shell that evaluates what is printed: the parent, since a substitution forks the
// shell.
std::string callingShell() {
    std::ifstream file(fmt::format("/proc/{}/comm", getppid()));
    std::string name;
    std::getline(file, name);
    return name;
}

void requireBash(const std::optional<std::string>& named) {
    const std::string shell = named ? *named : callingShell();
    const bool isOther =
        std::find(otherShells.begin(), otherShells.end(), shell) != otherShells.end();
    if (isOther || (named && shell != "bash"))
        throw Failure(ExitStatus::Failed, fmt::format("There is no shell code for {} yet", shell),
                      "Use bash; \"genvctl run\" needs no shell code and works from any shell.");
}

void printCode(const std::optional<std::string>& shell) {
    requireBash(shell);
    std::error_code error;
    const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
    // The very program that printed the code is called by it, whatever PATH says later.
    print(fmt::format("__genv_program={}\n{}", shellQuoted(error ? "genvctl" : program.string()),
                      bashScript));
}

void add(CLI::App& command, Context& context,
         const std::shared_ptr<std::optional<std::string>>& shell) {
    command.callback([&context, shell] { context.command = [shell] { printCode(*shell); }; });
}

} // namespace

void addShell(CLI::App& app, Context& context) {
    CLI::App* command =
        app.add_subcommand("shell", "Print what sets a shell up: eval \"$(genvctl shell --init)\"");
    const auto shell = std::make_shared<std::optional<std::string>>();
    command
        ->add_flag_callback(
            "--init", [] {}, "Print the code")
        ->required();
    command->add_option("SHELL", *shell, "bash (default: the shell that asks)")->type_name("");
    add(*command, context, shell);

    // The spelling of the first versions: genv init -
    CLI::App* old = app.add_subcommand("init")->group("");
    old->add_option("DASH")->type_name("");
    add(*old, context, std::make_shared<std::optional<std::string>>());
}

} // namespace genv::ctl
