// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/shell/execution.hpp"

#include "client/genvctl/definition/definition.hpp"
#include "client/genvctl/terminal/terminal.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace genv::ctl {

// CLI11 does not parse words for which there is no argument. This argument accepts no word; it
// keeps "--" from ending the subcommand, and appears in the help.
void takeEverythingFromTheCommandOn(CLI::App& command, const char* help, ValueKind values) {
    const CLI::Validator never([](std::string&) { return std::string("not here"); }, "");
    CLI::Option* argument =
        command.add_option("COMMAND")->description(help)->check(never)->type_name("");
    Definition::of(command).describe(argument, {.values = values, .onCluster = cluster::mapped});
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

std::vector<std::string> noCommandWords(const CLI::App& command) {
    const std::vector<std::string> words = command.remaining();
    if (!words.empty())
        throw CLI::ExtrasError({words.front()});
    return {};
}

void execute(const std::vector<std::string>& words) {
    std::vector<char*> arguments;
    arguments.reserve(words.size() + 1);
    for (const std::string& word : words)
        arguments.push_back(const_cast<char*>(word.c_str())); // execvp() does not modify it
    arguments.push_back(nullptr);
    execvp(arguments.front(), arguments.data());
    const int error = errno;
    complain(fmt::format("{}: {}", words.front(), std::strerror(error)));
    constexpr int notFound = 127;
    constexpr int notExecutable = 126;
    std::exit(error == ENOENT ? notFound : notExecutable);
}

} // namespace genv::ctl
