// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/command_line.hpp"

#include "client/genvctl/cluster/commands.hpp"
#include "client/genvctl/commands/commands.hpp"
#include "client/genvctl/common/exit_status.hpp"
#include "client/genvctl/common/stop_signals.hpp"
#include "client/genvctl/completion/completion.hpp"
#include "client/genvctl/completion/completion_values.hpp"
#include "client/genvctl/context/context.hpp"
#include "client/genvctl/options/help_formatter.hpp"
#include "client/genvctl/shell/genv1.hpp"
#include "client/genvctl/terminal/terminal.hpp"
#include "client/genvctl/terminal/text.hpp"
#include "core/error.hpp"

#include <CLI/CLI.hpp>
#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace genv::ctl {

namespace {

constexpr const char* programFooter =
    "Set bash or zsh up with: eval \"$(genvctl shell --init)\"\n"
    "and fish with: genvctl shell --init | source\n"
    "Then \"genv activate --gpus 1\" gives it a GPU, and closing it gives the GPU back.\n\n"
    "Exit status: 0 done, 1 failed, 2 wrong usage, 3 not in an environment, 4 not authorised,\n"
    "5 no device free, 6 no service, 7 over a limit.";

/// What of the command line is no command's own.
struct RawOptions {
    std::string json = "off";
    std::string shell;
    std::uint32_t shellPid = 0;
    int shellDescriptor = -1;
    std::string shellBegan;
};

void addGlobalOptions(CLI::App& app, Context& context, RawOptions& raw) {
    app.add_flag("--json{short}", raw.json, "Print JSON: short, pretty or off")
        ->check(CLI::IsMember({"short", "pretty", "off"}).description(""))
        ->type_name("HOW");
    app.add_flag("--full", context.options.full, "Shorten no cell to fit the terminal");
    app.add_flag("--no-legend", context.options.noLegend, "Print no table header");
    app.add_flag_callback(
        "--no-pager", [] {}, "Accepted as by systemctl; there is no pager");
    app.add_option("-H,--host", context.options.host,
                   "Talk to the service of another machine, over SSH")
        ->type_name("[USER@]HOST[:PORT]");
    app.add_option("--cluster", context.options.cluster,
                   "Use the GPUs of a Slurm cluster: slurm or none")
        ->check(CLI::IsMember({"slurm", "none"}).description(""))
        ->type_name("WHICH");
    app.add_flag("--no-ask-password", context.options.noAskPassword, "Never ask for a password");
    // What the shell function says of itself.
    app.add_option("--shell", raw.shell)->check(CLI::IsMember({"bash", "zsh", "fish"}))->group("");
    app.add_option("--shell-pid", raw.shellPid)->group("");
    app.add_option("--shell-fd", raw.shellDescriptor)->group("");
    app.add_option("--shell-began", raw.shellBegan)->group("");
}

void apply(const RawOptions& raw, Context& context) {
    if (raw.json != "off")
        context.options.json = raw.json == "pretty" ? JsonMode::Pretty : JsonMode::Short;
    if (raw.shell.empty())
        return;
    // No other program is to hold it, nor a descriptor that the function did not open.
    if (raw.shellPid == 0 || raw.shellDescriptor <= STDERR_FILENO ||
        fcntl(raw.shellDescriptor, F_SETFD, FD_CLOEXEC) < 0)
        throw Failure(ExitStatus::Usage,
                      "--shell needs the shell's --shell-pid and an open --shell-fd");
    context.shell =
        ShellLink{*shellNamed(raw.shell), raw.shellPid, raw.shellDescriptor, raw.shellBegan};
}

struct Command {
    std::string_view name;
    void (*add)(CLI::App& app, Context& context);
};

// In the order of the help.
constexpr std::array commands{
    Command{"activate", addActivate},   Command{"deactivate", addDeactivate},
    Command{"attach", addAttach},       Command{"detach", addDetach},
    Command{"lock", addLock},           Command{"queue", addQueue},
    Command{"extend", addExtend},       Command{"config", addConfig},
    Command{"status", addStatus},       Command{"devices", addDevices},
    Command{"envs", addEnvs},           Command{"events", addEvents},
    Command{"history", addHistory},     Command{"report", addReport},
    Command{"monitor", addMonitor},     Command{"run", addRun},
    Command{"jupyter", addJupyter},     Command{"home", addHome},
    Command{"shell", addShell},         Command{"init", addInit},
    Command{"limits", addLimits},       Command{"enforce", addEnforce},
    Command{"terminate", addTerminate}, Command{"isolation", addIsolation},
    Command{"usage", addUsage},         Command{"policy", addPolicy},
    Command{"doctor", addDoctor},       Command{"remote", addRemote},
    Command{"slurm", addSlurm},         Command{"version", addVersion}};

using Words = std::vector<std::string_view>;

bool isNamed(const Command& command, const Words& words) {
    return std::find(words.begin(), words.end(), command.name) != words.end();
}

// Adds the commands that a word of the command line names, and all where there is none such, so
// that the help tells of them: to define all would take longer than to run most.
void addCommands(CLI::App& app, Context& context, const Words& words) {
    const bool isAny = std::any_of(commands.begin(), commands.end(),
                                   [&](const Command& command) { return isNamed(command, words); });
    for (const Command& command : commands) {
        if (!isAny || isNamed(command, words))
            command.add(app, context);
    }
}

// The commands that speak of what a machine has, be it this one or another. The others are about
// the shell or the files of the one who types.
constexpr std::array commandsForAnyMachine{
    "activate", "devices",   "enforce",   "envs",    "events", "extend",
    "history",  "isolation", "limits",    "monitor", "queue",  "remote",
    "report",   "run",       "terminate", "usage",   "version"};

void requireSense(const CLI::App& app, const Context& context) {
    if (!context.options.host)
        return;
    for (const CLI::App* command : app.get_subcommands()) {
        const auto isIt = [&](const char* name) { return command->get_name() == name; };
        if (std::none_of(commandsForAnyMachine.begin(), commandsForAnyMachine.end(), isIt))
            throw Failure(ExitStatus::Usage,
                          fmt::format("\"{}\" makes no sense on another machine: -H cannot be used",
                                      command->get_name()),
                          fmt::format("\"genvctl -H {} run --login\" gives you a shell there.",
                                      *context.options.host));
    }
}

// The command that the arguments named, such as "genvctl devices find".
std::string namedCommand(const CLI::App& app) {
    std::string name = app.get_name();
    for (const CLI::App* command : app.get_subcommands())
        (name += ' ') += namedCommand(*command);
    return name;
}

Failure usageFailure(const CLI::App& app, const CLI::ParseError& error) {
    const std::string command = namedCommand(app);
    if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
        const std::vector<std::string> extras = app.remaining(true);
        const std::string extra = extras.empty() ? "" : extras.front();
        const bool isOption = extra.starts_with('-');
        const bool isCommand = !isOption && app.get_subcommands().empty();
        return {ExitStatus::Usage,
                fmt::format("\"{}\" is no {} {}", extra,
                            isOption    ? "option"
                            : isCommand ? "command"
                                        : "argument",
                            isCommand ? "of genvctl" : "of \"" + command + "\""),
                isCommand ? "\"genvctl --help\" lists the commands."
                          : fmt::format("\"{} --help\" tells what it takes.", command)};
    }
    return {ExitStatus::Usage, error.what(),
            fmt::format("\"{} --help\" tells what it takes.", command)};
}

int finish(const Failure& failure) {
    if (*failure.what() != '\0')
        complain(failure.what(), failure.hint());
    return static_cast<int>(failure.status());
}

void parse(CLI::App& app, const std::vector<std::string>& words) {
    try {
        app.parse(std::vector<std::string>(words.rbegin(), words.rend())); // as CLI11 wants them
    } catch (const CLI::Success&) {
        throw;
    } catch (const CLI::ParseError& error) {
        throw usageFailure(app, error);
    }
}

// A script that runs this is to stop, too, on Ctrl-C, so it is to see the signal. A shell's
// function has something to put right first: it hears a status, the one that shells give.
int stopped(const Context& context, int signal) {
    constexpr int asShellsSay = 128;
    if (!context.shell && signal != 0)
        dieBy(signal);
    return asShellsSay + signal;
}

void define(CLI::App& app, Context& context, RawOptions& raw, const Words& words = {}) {
    app.name(std::strcmp(program_invocation_short_name, "genv") == 0 ? "genv" : "genvctl");
    app.description("Shares the GPUs of this machine: takes them for you and gives them back");
    app.formatter(helpFormatter()); // first, or the commands would not have it
    app.fallthrough();
    app.require_subcommand(0, 1);
    addGlobalOptions(app, context, raw);
    addCommands(app, context, words);
    app.set_version_flag("--version", "genv " GENV_VERSION, "Print the version");
    app.footer(programFooter); // last, or each command would have it, too
}

// What is typed already may be about another machine.
bool isAboutAnother(const std::vector<std::string>& words) {
    return std::any_of(words.begin(), words.end(), [](const std::string& word) {
        return word == "remote" || word.starts_with("-H") || word.starts_with("--host");
    });
}

// What the shells' completion functions call: the words behind "complete" are those of a command
// line that is being typed, and none of them is an option of this one.
void answerShell(const std::vector<std::string>& words) {
    withCommandLine([&](const CLI::App& app) {
        print(completionText(
            complete(app, words, isAboutAnother(words) ? valuesElsewhere : liveValues)));
    });
}

// Of the command that was named. Without one it is of all, though an option's value may have had a
// command's name.
void printHelp(const CLI::App& app) {
    const auto any = [](const CLI::App*) { return true; };
    if (app.get_subcommands().empty() && app.get_subcommands(any).size() < commands.size())
        withCommandLine([](const CLI::App& whole) { print(whole.help()); });
    else
        print(app.help());
}

int run(int count, char** arguments) {
    Context context;
    RawOptions raw;
    CLI::App app;
    try {
        if (count > 1 && std::string_view(arguments[1]) == "complete") {
            answerShell({arguments + 2, arguments + count});
            return static_cast<int>(ExitStatus::Ok);
        }
        const auto words = asSpelledToday({arguments + std::min(count, 1), arguments + count});
        if (const auto status = answerShellOfGenv1(words))
            return *status;
        define(app, context, raw, {words.begin(), words.end()});
        parse(app, words);
        apply(raw, context);
        requireSense(app, context);
        if (cluster::run(app, context))
            return static_cast<int>(ExitStatus::Ok);
        if (context.command)
            context.command();
        else
            printHelp(app);
        return static_cast<int>(ExitStatus::Ok);
    } catch (const CLI::CallForHelp&) {
        printHelp(app);
        return static_cast<int>(ExitStatus::Ok);
    } catch (const CLI::Success& answer) {
        return app.exit(answer);
    } catch (const Failure& failure) {
        return finish(failure);
    } catch (const Error& error) {
        return finish(context.failureOf(error));
    } catch (const Interrupted& interrupted) {
        complain(interrupted.what());
        return stopped(context, interrupted.signal());
    } catch (const core::Error& error) {
        return finish({ExitStatus::Usage, error.what()});
    }
}

} // namespace

void withCommandLine(const std::function<void(const CLI::App&)>& use, const Words& words) {
    Context context;
    RawOptions raw;
    CLI::App app;
    define(app, context, raw, words);
    use(app);
}

int runCommandLine(int count, char** arguments) noexcept {
    guardStandardDescriptors();
    try {
        return run(count, arguments);
    } catch (const std::exception& error) {
        return finish({ExitStatus::Failed, error.what()});
    }
}

} // namespace genv::ctl
