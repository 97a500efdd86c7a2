// SPDX-License-Identifier: LGPL-2.1-or-later
// run: an environment for one command. The command takes the place of genvctl in the same process,
// so that its pid, exit status and signals are its own and the environment ends with it.
#include "client/genvctl/commands/commands.hpp"
#include "client/genvctl/commands/configuration_options.hpp"
#include "client/genvctl/context.hpp"
#include "client/genvctl/exit_status.hpp"
#include "client/genvctl/terminal.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace genv::ctl {

namespace {

struct RunArguments {
    ConfigurationOptions configuration;
    bool overSubscribe = false;
};

void setVariables(const std::vector<Variable>& variables) {
    for (const auto& [name, value] : variables) {
        if (value)
            setenv(name.c_str(), value->c_str(), 1);
        else
            unsetenv(name.c_str());
    }
}

void putShimsFirst() {
    const char* path = std::getenv("PATH");
    setenv("PATH",
           path != nullptr ? fmt::format("{}:{}", shimsFolder(), path).c_str()
                           : shimsFolder().c_str(),
           1);
}

// As a shell says it: 127 where there is no such command, 126 where it cannot be run.
[[noreturn]] void execute(const std::vector<std::string>& words) {
    std::vector<char*> arguments;
    arguments.reserve(words.size() + 1);
    for (const std::string& word : words)
        arguments.push_back(const_cast<char*>(word.c_str())); // execvp() changes none
    arguments.push_back(nullptr);
    execvp(arguments.front(), arguments.data());
    const int error = errno;
    complain(fmt::format("{}: {}", words.front(), std::strerror(error)));
    constexpr int notFound = 127;
    constexpr int notExecutable = 126;
    std::exit(error == ENOENT ? notFound : notExecutable);
}

void run(Context& context, const RunArguments& arguments, const std::vector<std::string>& words) {
    ActivateOptions options;
    options.configuration = arguments.configuration.read();
    options.pid = static_cast<std::uint32_t>(getpid());
    options.attach = options.configuration.gpus.value_or(0) > 0;
    options.overSubscribe = arguments.overSubscribe;

    context.client().listenForNotices(geteuid());
    const std::string id =
        context.authorised([&](Client& client) { return client.activate(options); });
    const Environment environment = context.client().environment(id);
    setVariables(
        environmentVariables(environment, visibleDevices(context.client(), environment.devices)));
    putShimsFirst();
    context.warnOfNotices(id);
    execute(words);
}

// From the command's name on, nothing is an option of genvctl, and no word is changed: CLI11 leaves
// the words alone that it has no place for. The place that takes none keeps a "--" from ending this
// subcommand, and shows in the help.
void takeEverythingFromTheCommandOn(CLI::App& command) {
    const CLI::Validator never([](std::string&) { return std::string("not here"); }, "");
    command.add_option("COMMAND", "What to run, and its arguments")->check(never)->type_name("");
    command.validate_positionals()->prefix_command()->fallthrough(false);
}

std::vector<std::string> commandWords(const CLI::App& command) {
    std::vector<std::string> words = command.remaining();
    const bool isMarked = !words.empty() && words.front() == "--";
    if (isMarked)
        words.erase(words.begin());
    if (words.empty())
        throw CLI::RequiredError("COMMAND");
    if (!isMarked && words.front().starts_with('-'))
        throw CLI::ExtrasError({words.front()});
    return words;
}

} // namespace

void addRun(CLI::App& app, Context& context) {
    CLI::App* command = app.add_subcommand("run", "Run a command in an environment of its own");
    const auto arguments = std::make_shared<RunArguments>();
    arguments->configuration.addTo(*command);
    command->add_flag("-o,--over-subscribe", arguments->overSubscribe,
                      "Take also GPUs that others hold");
    command->footer(
        "The environment ends with the command. Without --gpus the command sees no GPU. Also in\n"
        "an active environment the command gets one of its own, with its own GPUs.");
    takeEverythingFromTheCommandOn(*command);
    command->callback([&context, arguments, command] {
        const std::vector<std::string> words = commandWords(*command);
        context.command = [&context, arguments, words] { run(context, *arguments, words); };
    });
}

} // namespace genv::ctl
