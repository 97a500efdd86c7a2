// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/base/command_line/usage_error.hpp"

#include "core/base/command_line/closest_word.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <regex>
#include <string>
#include <vector>

namespace genv::core {

namespace {

// Returns the command named by the arguments, such as "genvctl devices find".
std::string namedCommand(const CLI::App& app) {
    std::string name = app.get_name();
    for (const CLI::App* command : app.get_subcommands())
        (name += ' ') += namedCommand(*command);
    return name;
}

bool hasCommands(const CLI::App& app) {
    return !app.get_subcommands([](const CLI::App*) { return true; }).empty();
}

// Returns the command that the arguments select.
const CLI::App& selectedCommand(const CLI::App& app) {
    const std::vector<CLI::App*> selected = app.get_subcommands();
    return selected.empty() ? app : selectedCommand(*selected.front());
}

std::vector<std::string> commandNames(const CLI::App& app) {
    std::vector<std::string> names;
    for (const CLI::App* command : app.get_subcommands([](const CLI::App* each) {
             return !each->get_name().empty() && !each->get_group().empty();
         }))
        names.push_back(command->get_name());
    return names;
}

// Returns the shown options of a command, and those of its parents that it accepts as well.
std::vector<std::string> optionNames(const CLI::App& command) {
    std::vector<std::string> names;
    for (const CLI::App* app = &command; app != nullptr;
         app = app->get_fallthrough() ? app->get_parent() : nullptr) {
        for (const CLI::Option* option :
             app->get_options([](const CLI::Option* each) { return !each->get_group().empty(); })) {
            for (const std::string& name : option->get_lnames())
                names.push_back("--" + name);
        }
    }
    return names;
}

// Returns a hint that begins with the word that was probably meant.
std::string hintAt(const std::string& word, const std::vector<std::string>& known,
                   const std::string& hint) {
    const auto closest = closestWord(word.substr(0, word.find('=')), known);
    return closest ? fmt::format("Did you mean \"{}\"? {}", *closest, hint) : hint;
}

std::string unexpectedWord(const CLI::App& app, const std::string& command) {
    const std::vector<std::string> extras = app.remaining(true);
    const std::string extra = extras.empty() ? "" : extras.front();
    return fmt::format("{} \"{}\" for \"{}\"",
                       extra.starts_with('-') ? "unknown option" : "unexpected argument", extra,
                       command);
}

/// A message of CLI11 and its replacement, where $1 is the first matched group.
struct Rewording {
    std::regex pattern;
    const char* format;
};

// The messages of CLI11 2.1 and of later versions differ.
const std::vector<Rewording>& rewordings() {
    static const std::vector<Rewording> all{
        {std::regex(R"((-\S+): 1 required .* missing)"), R"(missing value for $1)"},
        {std::regex(R"((\S+): [Ee]xpected .*)"), R"(missing value for $1)"},
        {std::regex(R"((-\S+) is required)"), R"(missing option $1)"},
        {std::regex(R"((-.+) is required)"), "missing option $1"},
        {std::regex(R"([Aa] subcommand is required)"), "missing command"},
        {std::regex(R"((\S+) is required)"), "missing argument $1"},
        {std::regex(R"((\S+) requires (\S+))"), "$1 requires $2"},
        {std::regex(R"((\S+) excludes (\S+))"), "$1 cannot be combined with $2"},
        {std::regex(R"(Could not convert: (\S+) = ([^]*))"),
         R"(invalid value "$2" for $1: expected a number)"},
        // The range of positive numbers ends with the largest double: CLI11 2.1 prints it in
        // digits, and 2.4 as 1.79769e+308.
        {std::regex(R"((\S+): Value ([^]*) not in range \[?\S+ (?:to|-) 1\.?797\S*)"),
         R"(invalid value "$2" for $1: expected a positive number)"},
        {std::regex(R"((\S+): Value ([^]*) not in range \[?(\S+) (?:to|-) ([^\]]*)\]?)"),
         R"(invalid value "$2" for $1: expected $3-$4)"},
        {std::regex(R"((\S+): ([^]*) not in \{(.*)\})"),
         R"(invalid value "$2" for $1: expected $3)"},
        {std::regex(R"((\S+): Number less or equal to 0: ([^]*))"),
         R"(invalid value "$2" for $1: expected a positive number)"},
    };
    return all;
}

// Returns a list of values in prose: "short, pretty or off".
std::string spelledOut(std::string message) {
    const std::size_t expected = message.rfind(": expected ");
    if (expected == std::string::npos || message.find(',', expected) == std::string::npos)
        return message;
    message.replace(message.rfind(','), 1, " or ");
    for (std::size_t at = message.find(',', expected); at != std::string::npos;
         at = message.find(',', at + 1))
        message.replace(at, 1, ", ");
    return message;
}

std::string reworded(const std::string& message) {
    for (const Rewording& rewording : rewordings()) {
        std::smatch match;
        if (std::regex_match(message, match, rewording.pattern))
            return spelledOut(match.format(rewording.format));
    }
    return message;
}

} // namespace

UsageError unknownCommand(const std::string& word, const std::string& parent) {
    return {fmt::format("unknown command \"{}\" for \"{}\"", word, parent),
            fmt::format("See \"{} --help\" for the commands.", parent)};
}

UsageError usageError(const CLI::App& app, const CLI::ParseError& error) {
    const std::string command = namedCommand(app);
    const std::string hint = fmt::format("See \"{} --help\".", command);
    if (dynamic_cast<const CLI::ExtrasError*>(&error) == nullptr)
        return {reworded(error.what()), hint};
    const std::vector<std::string> extras = app.remaining(true);
    const bool isCommand = hasCommands(app) && app.get_subcommands().empty() && !extras.empty() &&
                           !extras.front().starts_with('-');
    if (isCommand) {
        const UsageError unknown = unknownCommand(extras.front(), command);
        return {unknown.what(), hintAt(extras.front(), commandNames(app), unknown.hint())};
    }
    if (extras.empty())
        return {unexpectedWord(app, command), hint};
    const CLI::App& selected = selectedCommand(app);
    return {unexpectedWord(app, command),
            hintAt(extras.front(),
                   extras.front().starts_with('-') ? optionNames(selected) : commandNames(selected),
                   hint)};
}

void refuseValue(std::string_view option, std::string_view value, std::string_view expected) {
    throw CLI::ValidationError(
        fmt::format("invalid value \"{}\" for {}: expected {}", value, option, expected));
}

} // namespace genv::core
