// SPDX-License-Identifier: LGPL-2.1-or-later
// shell: prints the code that sets up genv in a shell or removes it, and refreshes the variables of
// the shell.
#include "client/genvctl/commands/commands.hpp"
#include "client/genvctl/common/exit_status.hpp"
#include "client/genvctl/context/context.hpp"
#include "client/genvctl/definition/definition.hpp"
#include "client/genvctl/environment/lingering.hpp"
#include "client/genvctl/shell/genv1.hpp"
#include "client/genvctl/shell/shell_script.hpp"
#include "client/genvctl/terminal/terminal.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>

namespace genv::ctl {

namespace {

struct ShellArguments {
    std::optional<std::string> shell;
    bool init = false;
    bool deinit = false;
    bool ok = false;
    bool reattach = false;
    bool reconfigure = false;
    bool exiting = false;
};

constexpr const char* shellFooter =
    "Set up your shell, once or in its startup file:\n"
    "  bash  eval \"$(genvctl shell --init)\"     ~/.bashrc\n"
    "  zsh   eval \"$(genvctl shell --init)\"     ~/.zshrc\n"
    "  fish  genvctl shell --init | source      ~/.config/fish/config.fish\n"
    "To undo the setup, use --deinit instead of --init.";

// Shells that are known not to understand the code. Every other caller, such as a test or an
// editor, gets bash's code.
constexpr std::array otherShells{"sh",   "dash", "ash", "busybox", "ksh",
                                 "mksh", "tcsh", "csh", "nu",      "elvish"};

Shell chosenShell(const std::optional<ShellLink>& link, const std::optional<std::string>& named) {
    if (!named && link)
        return link->kind;
    const std::string name = named ? *named : callingProgram();
    if (const auto shell = shellNamed(name))
        return *shell;
    const bool isOther =
        std::find(otherShells.begin(), otherShells.end(), name) != otherShells.end();
    if (isOther || named)
        throw Failure(ExitStatus::Failed, fmt::format("There is no shell code for {}", name),
                      "Use bash, zsh or fish; \"genvctl run\" needs no shell code.");
    return Shell::Bash;
}

// A restricted shell cannot run the code, which redirects output, so it prints one sentence.
constexpr const char* sayRestricted =
    "echo \"genv: a restricted shell cannot activate environments; "
    "use \\\"genvctl run\\\"\" >&2";

// Bash expands aliases when it reads a function. The first lines switch that off, as zsh's
// no_aliases does, whatever names the user's aliases have.
std::string bashInitCode(const std::string& program) {
    return fmt::format("if \\shopt -q expand_aliases; then\n"
                       "__genv_aliases=-s\nelse\n__genv_aliases=-u\nfi\n"
                       "\\shopt -u expand_aliases\n"
                       "if shopt -q restricted_shell; then\n{}\nelse\n"
                       "{}__genv_program={}\n{}\nfi\n"
                       "shopt \"$__genv_aliases\" expand_aliases\nunset -v __genv_aliases\n",
                       sayRestricted, genv1CleanupWhereNeeded(), program, bashScript);
}

std::string initCode(Shell shell) {
    std::error_code error;
    const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
    // The shell calls the same program that printed the code, regardless of later changes of PATH.
    const std::string word = shellQuoted(shell, error ? "genvctl" : program.string());
    switch (shell) {
    case Shell::Bash:
        return bashInitCode(word);
    case Shell::Zsh:
        // Read and run with the default options of zsh, regardless of the user's options and
        // aliases.
        return fmt::format("if [[ -o restricted ]]; then\n{}\nelse\n__genv_program={}\n"
                           "emulate zsh -o no_aliases -c {}\nfi\n",
                           sayRestricted, word, shellQuoted(shell, zshScript));
    case Shell::Fish:
        return fmt::format("set -g __genv_program {}\n{}", word, fishScript);
    }
    return {};
}

// Does nothing in a shell that is not set up.
std::string deinitCode(Shell shell) {
    switch (shell) {
    case Shell::Bash:
        return "if declare -F __genv_deinit >/dev/null; then __genv_deinit; fi\n";
    case Shell::Zsh:
        return "if (( ${+functions[__genv_deinit]} )); then __genv_deinit; fi\n";
    case Shell::Fish:
        return "if functions -q __genv_deinit; __genv_deinit; end\n";
    }
    return {};
}

// As "attach --refresh" and "config --refresh".
void refresh(Context& context, const ShellArguments& arguments) {
    context.requireShell(arguments.reattach ? "shell --reattach" : "shell --reconfigure");
    context.inEnvironment([&](const std::string& id) {
        const Environment environment = context.client().environment(id);
        const std::vector<Variable> variables =
            arguments.reattach
                ? deviceVariables(visibleDevices(context.client(), id, environment.devices))
                : configurationVariables(environment.configuration);
        context.requireWritable(variables);
        ShellCode code;
        code.set(variables);
        context.sendToShell(code);
    });
}

// How long the check for remaining processes may delay a shell that exits; SIGALRM then ends the
// check.
constexpr unsigned exitQuestionSeconds = 2;

// A user who leaves the shell does not need error messages.
void warnOfRemaining(Context& context) {
    const ShellLink& link = context.requireShell("shell --exiting");
    alarm(exitQuestionSeconds);
    try {
        if (const auto environment = context.activeEnvironment())
            warnOfLeaving(context.client(), environment->id, link.pid);
    } catch (const std::exception&) {
    }
}

void requireSetUp(const std::optional<ShellLink>& link) {
    if (!link)
        throw Failure(ExitStatus::Usage, "This shell is not set up for genv", setUpHint());
}

void shell(Context& context, const ShellArguments& arguments) {
    if (arguments.exiting) {
        warnOfRemaining(context);
        return;
    }
    if (arguments.init + arguments.deinit + arguments.ok + arguments.reattach +
            arguments.reconfigure !=
        1)
        throw Failure(ExitStatus::Usage,
                      "expected one of --init, --deinit, --ok, --reattach and --reconfigure",
                      "See \"genvctl shell --help\".");
    if (arguments.init)
        print(initCode(chosenShell(context.shell, arguments.shell)));
    else if (arguments.deinit)
        print(deinitCode(chosenShell(context.shell, arguments.shell)));
    else if (arguments.ok)
        requireSetUp(context.shell);
    else
        refresh(context, arguments);
}

} // namespace

constexpr std::array shellExamples{
    Example{"Set up bash or zsh", "eval \"$(genvctl shell --init)\""},
    Example{"Set up fish", "genvctl shell --init | source"},
    Example{"Check whether this shell is set up", "genv shell --ok"},
};

void addShell(CLI::App& app, Context& context) {
    CLI::App* command = addCommand(app, "shell", "Print the code that sets up a shell",
                                   {.examples = shellExamples});
    const auto arguments = std::make_shared<ShellArguments>();
    command->add_flag("--init", arguments->init, "Print the code that sets up a shell");
    command->add_flag("--deinit", arguments->deinit, "Print the code that undoes the setup");
    command->add_flag("--ok", arguments->ok, "Exit with status 0 if this shell is set up");
    command->add_flag("--reattach", arguments->reattach, "Refresh the variables about GPUs");
    command->add_flag("--reconfigure", arguments->reconfigure,
                      "Refresh the variables about the configuration");
    // Used by the shell functions when the shell exits.
    command->add_flag("--exiting", arguments->exiting)->group("");
    addOption(*command, "SHELL", arguments->shell, "Choose bash, zsh or fish [default: this shell]",
              {.values = OneOf{"bash", "zsh", "fish"}})
        ->type_name("");
    command->footer(shellFooter);
    command->callback([&context, arguments] {
        context.command = [&context, arguments] { shell(context, *arguments); };
    });
}

void addInit(CLI::App& app, Context& context) {
    // The syntax of the first versions: genv init -
    CLI::App* old = app.add_subcommand("init")->group("");
    old->add_option("DASH")->type_name("");
    old->callback([&context] {
        context.command = [&context] { print(initCode(chosenShell(context.shell, {}))); };
    });
}

} // namespace genv::ctl
