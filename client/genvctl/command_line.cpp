// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/command_line.hpp"

#include "client/genvctl/cluster_commands.hpp"
#include "client/genvctl/commands/commands.hpp"
#include "client/genvctl/common/exit_status.hpp"
#include "client/genvctl/common/stop_signals.hpp"
#include "client/genvctl/completion/completion.hpp"
#include "client/genvctl/completion/completion_values.hpp"
#include "client/genvctl/context/context.hpp"
#include "client/genvctl/definition/definition.hpp"
#include "client/genvctl/jobs/detached_run.hpp"
#include "client/genvctl/jobs/job_system.hpp"
#include "client/genvctl/jobs/script.hpp"
#include "client/genvctl/options/json_option.hpp"
#include "client/genvctl/options/optional_times.hpp"
#include "client/genvctl/shell/genv1.hpp"
#include "client/genvctl/terminal/terminal.hpp"
#include "client/genvctl/terminal/terminal_text.hpp"
#include "client/jobs/link/jobs_unavailable.hpp"
#include "core/base/command_line/help_formatter.hpp"
#include "core/base/command_line/usage_error.hpp"
#include "core/base/error.hpp"

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
    "Every command accepts the global options. \"genvctl help COMMAND\" describes a\n"
    "command; genvctl(1) is the manual page.\n"
    "\n"
    "Exit status:\n"
    "  0  Success\n"
    "  1  Failure\n"
    "  2  Usage error\n"
    "  3  Not in an active environment\n"
    "  4  Not authorized\n"
    "  5  Not enough free devices\n"
    "  6  No answer from the service or the machine\n"
    "  7  Over a limit";

constexpr std::array programExamples{
    Example{"Start an environment with one GPU for this shell", "genv activate --gpus 1"},
    Example{"Run a program with two GPUs", "genvctl run --gpus 2 -- python train.py"},
    Example{"Show the users of each GPU", "genvctl devices"},
};

constexpr const char* globalOptions = "Global options";

/// The values of the global options.
struct RawOptions {
    std::string shell;
    std::uint32_t shellPid = 0;
    int shellDescriptor = -1;
    std::string shellBegan;
    std::vector<std::string> shellReadOnly;
};

void addGlobalOptions(CLI::App& app, GlobalOptions& options, RawOptions& raw) {
    addJsonOption(app, options.json);
    app.add_flag("--full", options.full, "Do not shorten table cells to the terminal");
    app.add_flag("--no-legend", options.noLegend, "Do not print table headers");
    app.add_flag_callback(
        "--no-pager", [] {}, "Ignore, for compatibility with systemctl");
    addOption(app, "-H,--host", options.host, "Connect to the service on another machine over SSH",
              {.values = ValueKind::Host})
        ->type_name("[USER@]HOST[:PORT]");
    addOption(app, "--cluster", options.cluster, "Use the GPUs of a Slurm cluster: slurm or none",
              {.values = OneOf{"slurm", "none"}})
        ->check(CLI::IsMember({"slurm", "none"}).description(""))
        ->type_name("CLUSTER");
    app.add_flag("--no-ask-password", options.noAskPassword,
                 "Do not ask for an administrator's password");
    // The shell function passes these options.
    app.add_option("--shell", raw.shell)
        ->check(CLI::IsMember({"bash", "zsh", "fish"}).description(""))
        ->group("");
    app.add_option("--shell-pid", raw.shellPid)->group("");
    app.add_option("--shell-fd", raw.shellDescriptor)->group("");
    app.add_option("--shell-began", raw.shellBegan)->group("");
    app.add_option("--shell-read-only", raw.shellReadOnly)->delimiter(',')->group("");
}

void linkToShell(const RawOptions& raw, std::optional<ShellLink>& shell) {
    if (raw.shell.empty())
        return;
    // Other programs must not inherit the descriptor, and it must be one that the shell function
    // opened.
    if (raw.shellPid == 0 || raw.shellDescriptor <= STDERR_FILENO ||
        fcntl(raw.shellDescriptor, F_SETFD, FD_CLOEXEC) < 0)
        throw Failure(ExitStatus::Usage,
                      "--shell needs the shell's --shell-pid and an open --shell-fd");
    shell = ShellLink{*shellNamed(raw.shell), raw.shellPid, raw.shellDescriptor, raw.shellBegan,
                      raw.shellReadOnly};
}

void addHelpOfAll(CLI::App& app, Context& context) {
    addHelp(app, context, [](const auto& use) { withCommandLine(use); });
}

struct Command {
    std::string_view name;
    void (*add)(CLI::App& app, Context& context);
    const char* group; ///< its heading in the help; empty for a hidden command
};

constexpr const char* dailyCommands = "Daily commands";
constexpr const char* jobCommands = "Job commands";
constexpr const char* furtherCommands = "Further commands";
constexpr const char* setupCommands = "Setup commands";
constexpr const char* administrationCommands = "Administration commands";
constexpr const char* migrationCommands = "Migration commands";

// In the order of the help: what users need all day comes first. A test compares the list at the
// start of COMMANDS in genvctl(1).
constexpr std::array commands{Command{"run", addRun, dailyCommands},
                              Command{"activate", addActivate, dailyCommands},
                              Command{"deactivate", addDeactivate, dailyCommands},
                              Command{"status", addStatus, dailyCommands},
                              Command{"attach", addAttach, dailyCommands},
                              Command{"detach", addDetach, dailyCommands},
                              Command{"extend", addExtend, dailyCommands},
                              Command{"park", addPark, dailyCommands},
                              Command{"resume", addResume, dailyCommands},
                              Command{"devices", addDevices, dailyCommands},
                              Command{"queue", addQueue, dailyCommands},
                              Command{"top", addTop, dailyCommands},
                              Command{"submit", addSubmit, jobCommands},
                              Command{"jobs", addJobs, jobCommands},
                              Command{"job", addJob, jobCommands},
                              Command{"logs", addLogs, jobCommands},
                              Command{"wait", addWait, jobCommands},
                              Command{"cancel", addCancel, jobCommands},
                              Command{"hold", addHold, jobCommands},
                              Command{"release", addRelease, jobCommands},
                              Command{"requeue", addRequeue, jobCommands},
                              Command{"lock", addLock, furtherCommands},
                              Command{"config", addConfig, furtherCommands},
                              Command{"envs", addEnvs, furtherCommands},
                              Command{"limits", addLimits, furtherCommands},
                              Command{"events", addEvents, furtherCommands},
                              Command{"history", addHistory, furtherCommands},
                              Command{"report", addReport, furtherCommands},
                              Command{"remote", addRemote, furtherCommands},
                              Command{"notify", addNotify, setupCommands},
                              Command{"shell", addShell, setupCommands},
                              Command{"init", addInit, ""},
                              Command{"jupyter", addJupyter, setupCommands},
                              Command{"doctor", addDoctor, setupCommands},
                              Command{"help", addHelpOfAll, setupCommands},
                              Command{"version", addVersion, setupCommands},
                              Command{"enforce", addEnforce, administrationCommands},
                              Command{"terminate", addTerminate, administrationCommands},
                              Command{"isolation", addIsolation, administrationCommands},
                              Command{"policy", addPolicy, administrationCommands},
                              Command{"monitor", addMonitor, administrationCommands},
                              Command{"slurm", addSlurm, administrationCommands},
                              Command{"home", addHome, migrationCommands},
                              Command{"usage", addUsage, migrationCommands}};

using Words = std::vector<std::string_view>;

bool isNamed(const Command& command, const Words& words) {
    return std::find(words.begin(), words.end(), command.name) != words.end();
}

// Adds the commands that are named by a word of the command line. If there is no such word, adds
// all commands, so that the help lists them. Defining all commands takes longer than running most
// of them.
void addCommands(CLI::App& app, Context& context, const Words& words) {
    const bool isAny = std::any_of(commands.begin(), commands.end(),
                                   [&](const Command& command) { return isNamed(command, words); });
    for (const Command& command : commands) {
        if (isAny && !isNamed(command, words))
            continue;
        command.add(app, context);
        app.get_subcommand(std::string(command.name))->group(command.group);
    }
}

// The commands about the state of a machine, either this one or another. All other commands are
// about the user's shell or files.
constexpr std::array commandsForAnyMachine{"activate",  "devices", "enforce", "envs",      "events",
                                           "extend",    "help",    "history", "isolation", "limits",
                                           "monitor",   "queue",   "remote",  "report",    "run",
                                           "terminate", "top",     "usage",   "version"};

// The jobs of a user are on the bus of that user, which no connection to another machine reaches.
std::string hintForHost(const CLI::App& command, const std::string& host) {
    return command.get_group() == jobCommands
               ? fmt::format("\"ssh {} genvctl {}\" does it there.", host, command.get_name())
               : fmt::format("\"genvctl -H {} run --login\" opens a shell there.", host);
}

void requireSense(const CLI::App& app, const std::optional<std::string>& host) {
    if (!host)
        return;
    for (const CLI::App* command : app.get_subcommands()) {
        const auto isIt = [&](const char* name) { return command->get_name() == name; };
        if (std::none_of(commandsForAnyMachine.begin(), commandsForAnyMachine.end(), isIt))
            throw Failure(ExitStatus::Usage,
                          fmt::format("\"{}\" cannot be combined with --host", command->get_name()),
                          hintForHost(*command, *host));
    }
}

int finish(const Failure& failure) {
    if (*failure.what() != '\0')
        complain(failure.what(), failure.hint());
    return static_cast<int>(failure.status());
}

void parse(CLI::App& app, const std::vector<std::string>& given) {
    const std::vector<std::string> words = withOptionalTimes(app, given);
    try {
        app.parse(std::vector<std::string>(words.rbegin(), words.rend())); // in CLI11's order
    } catch (const CLI::Success&) {
        throw;
    } catch (const CLI::ParseError& error) {
        throw core::usageError(app, error);
    }
}

// On Ctrl-C, a script that runs this command must also stop, so the command dies by the signal. The
// shell function has to clean up first, so it gets an exit status as shells use it.
int stopped(const std::optional<ShellLink>& shell, int signal) {
    constexpr int signalStatusBase = 128;
    if (!shell && signal != 0)
        dieBy(signal);
    return signalStatusBase + signal;
}

void define(Definition& app, Context& context, RawOptions& raw, const Words& words = {}) {
    app.name(std::strcmp(program_invocation_short_name, "genv") == 0 ? "genv" : "genvctl");
    app.description("Attach GPUs of this machine to your programs and see who uses them");
    // Must be first, because commands inherit these settings.
    app.formatter(core::helpFormatter());
    app.set_help_flag("-h,--help", "Print this help")->group(globalOptions);
    app.fallthrough();
    app.require_subcommand(0, 1);
    app.option_defaults()->group(globalOptions);
    addGlobalOptions(app, context.options, raw);
    app.set_version_flag("--version", "genv " GENV_VERSION, "Print the version");
    app.option_defaults()->group("Options"); // commands inherit these defaults as well
    addCommands(app, context, words);
    app.footer(programFooter); // must be last, or every command would have this footer
    app.describe(&app, {.examples = programExamples});
    app.addExamplesToHelp();
}

// Whether the words so far refer to another machine.
bool isAboutAnother(const std::vector<std::string>& words) {
    return std::any_of(words.begin(), words.end(), [](const std::string& word) {
        return word == "remote" || word.starts_with("-H") || word.starts_with("--host");
    });
}

// Implements "complete", which the completion functions of shells call. The words after it are a
// command line that is being typed, so they are not parsed as options of this one.
void answerShell(const std::vector<std::string>& words) {
    withCommandLine([&](const CLI::App& app) {
        print(completionText(
            complete(app, words, isAboutAnother(words) ? valuesElsewhere : liveValues)));
    });
}

// Prints the help of the named command. Without one, prints the whole help, even if the value of an
// option was the name of a command and fewer commands were defined.
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
    Definition app;
    try {
        if (count > 1 && std::string_view(arguments[1]) == "complete") {
            answerShell({arguments + 2, arguments + count});
            return static_cast<int>(ExitStatus::Ok);
        }
        if (count > 1 && std::string_view(arguments[1]) == runScriptWord)
            runScript({arguments + 2, arguments + count});
        const auto words =
            withDetachedRun(asSpelledToday({arguments + std::min(count, 1), arguments + count}),
                            [](const auto& use) { withCommandLine(use, {"submit"}); });
        if (const auto status = answerShellOfGenv1(words))
            return *status;
        refuseRemovedCommand(words);
        define(app, context, raw, {words.begin(), words.end()});
        parse(app, words);
        linkToShell(raw, context.shell);
        requireSense(app, context.options.host);
        context.openJobs = openOwnJobs;
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
    } catch (const core::UsageError& error) {
        return finish({ExitStatus::Usage, error.what(), error.hint()});
    } catch (const Failure& failure) {
        return finish(failure);
    } catch (const Error& error) {
        return finish(context.failureOf(error));
    } catch (const Interrupted& interrupted) {
        complain(interrupted.what());
        return stopped(context.shell, interrupted.signal());
    } catch (const jobs::Unavailable& error) {
        return finish({ExitStatus::NoService, error.what(), error.hint()});
    } catch (const core::Error& error) {
        return finish({ExitStatus::Usage, error.what()});
    }
}

} // namespace

void withCommandLine(const std::function<void(const CLI::App&)>& use, const Words& words) {
    Context context;
    RawOptions raw;
    Definition app;
    define(app, context, raw, words);
    use(app);
}

void parseOnly(const std::vector<std::string>& words) {
    Context context;
    RawOptions raw;
    Definition app;
    define(app, context, raw, {words.begin(), words.end()});
    parse(app, words);
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
