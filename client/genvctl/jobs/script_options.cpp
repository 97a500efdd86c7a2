// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/jobs/script_options.hpp"

#include "client/genvctl/common/exit_status.hpp"
#include "client/genvctl/definition/definition.hpp"
#include "client/genvctl/jobs/submit_options.hpp"
#include "client/genvctl/terminal/terminal_text.hpp"
#include "core/base/command_line/usage_error.hpp"
#include "core/base/text.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace genv::ctl {

namespace {

/// A command line with only the options of a job.
struct Parser {
    Parser() : app("", "genvctl submit") {
        app.set_help_flag();
        options.addTo(app);
    }
    Parser(const Parser&) = delete;
    Parser& operator=(const Parser&) = delete;

    /// Throws core::UsageError.
    void parse(std::vector<std::string> words) {
        std::ranges::reverse(words); // CLI11's order
        try {
            app.parse(std::move(words));
        } catch (const CLI::ParseError& error) {
            throw core::usageError(app, error);
        }
    }

    Definition app;
    SubmitOptions options;
};

bool isGiven(const CLI::App& command, const std::string& option) {
    return command.get_option(option)->count() > 0;
}

// Returns the given options as words that are parsed to the same values.
template <typename IsWanted>
void putOptions(const CLI::App& from, std::vector<std::string>& words, IsWanted isWanted) {
    for (const CLI::Option* option : from.get_options()) {
        if (option->count() == 0 || option->get_positional() || option->get_lnames().empty())
            continue;
        const std::string name = "--" + option->get_lnames().front();
        if (!isWanted(name))
            continue;
        const std::string value = joined(option->results(), ",");
        if (option->get_items_expected_min() == 0) {
            words.push_back(value == "true" ? name : name + '=' + value);
        } else {
            words.push_back(name);
            words.push_back(value);
        }
    }
}

// Checks a line by itself, so that an error has its number.
void parseLine(const Script& script, const ScriptLine& line) {
    try {
        Parser parser;
        parser.parse(line.words);
    } catch (const core::UsageError& error) {
        throw Failure(
            ExitStatus::Usage,
            fmt::format("{}:{}: {}", core::escaped(script.name), line.number, error.what()),
            error.hint());
    }
}

} // namespace

jobs::NewJob readWithScript(const CLI::App& command, const Script& script,
                            const std::function<void(const CLI::App&)>& check) {
    std::vector<std::string> fromScript;
    for (ScriptLine& line : optionLines(script)) {
        parseLine(script, line);
        std::move(line.words.begin(), line.words.end(), std::back_inserter(fromScript));
    }
    Parser ofScript;
    ofScript.parse(std::move(fromScript));
    std::vector<std::string> words;
    putOptions(ofScript.app, words,
               [&](const std::string& name) { return !isGiven(command, name); });
    Parser both;
    putOptions(command, words, [&](const std::string& name) {
        return both.app.get_option_no_throw(name) != nullptr;
    });
    both.parse(std::move(words));
    if (check)
        check(both.app);
    return both.options.read(both.app);
}

} // namespace genv::ctl
