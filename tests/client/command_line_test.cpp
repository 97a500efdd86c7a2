// SPDX-License-Identifier: LGPL-2.1-or-later
// The commands that are defined for a command line: only those that the line could mean, and all of
// them for the help.
#include "client/genvctl/command_line.hpp"
#include "client/genvctl/completion/completion.hpp"
#include "client/genvctl/definition/definition.hpp"
#include "client/genvctl/options/optional_times.hpp"
#include "core/base/command_line/help_formatter.hpp"
#include "core/base/command_line/usage_error.hpp"

#include <CLI/CLI.hpp>
#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace genv::ctl {
namespace {

using Names = std::vector<std::string>;

Names commandsFor(const std::vector<std::string_view>& words) {
    Names names;
    const auto any = [](const CLI::App*) { return true; };
    withCommandLine(
        [&](const CLI::App& app) {
            for (const CLI::App* command : app.get_subcommands(any))
                names.push_back(command->get_name());
        },
        words);
    return names;
}

// The words of an example up to a redirection or a pipe, without the program's name.
std::vector<std::string> wordsOf(std::string_view line) {
    const std::string text(line.substr(0, line.find_first_of("|<")));
    if (text.starts_with("eval "))
        return {"shell", "--init"};
    std::vector<std::string> words = CLI::detail::split_up(text);
    words.erase(words.begin());
    return words;
}

// Returns the error message for a command line.
std::string rejection(const std::vector<std::string>& words) {
    try {
        parseOnly(words);
    } catch (const core::UsageError& error) {
        return std::string(error.what()) + "\n" + error.hint();
    }
    return "";
}

void expectExamples(const CLI::App& command) {
    const auto examples = Definition::of(command).traitsOf(command).examples;
    if (!command.get_group().empty()) {
        EXPECT_FALSE(examples.empty()) << commandPath(command);
        EXPECT_NE(command.get_footer().find("Examples:\n"), std::string::npos)
            << commandPath(command);
    }
    for (const Example& example : examples) {
        EXPECT_EQ(rejection(wordsOf(example.line)), "") << example.line;
        EXPECT_TRUE(command.get_parent() == nullptr ||
                    example.line.find(command.get_name()) != std::string_view::npos)
            << example.line;
    }
    for (const CLI::App* below : command.get_subcommands([](const CLI::App*) { return true; }))
        expectExamples(*below);
}

// Returns the output of a command line that needs no service.
std::string printed(std::vector<std::string> words) {
    words.insert(words.begin(), "genvctl");
    std::vector<char*> arguments;
    for (std::string& word : words)
        arguments.push_back(word.data());
    testing::internal::CaptureStdout();
    EXPECT_EQ(runCommandLine(static_cast<int>(arguments.size()), arguments.data()), 0);
    return testing::internal::GetCapturedStdout();
}

TEST(CommandLine, EachCommandIsDefinedByItsName) {
    const Names all = commandsFor({});
    EXPECT_EQ(all.size(), 44U);
    for (const std::string& name : all)
        EXPECT_EQ(commandsFor({name}), Names{name});
}

TEST(CommandLine, WhatMayBeAnOptionsValueIsDefinedToo) {
    EXPECT_EQ(commandsFor({"-H", "devices", "envs"}), (Names{"devices", "envs"}));
}

TEST(CommandLine, AllAreDefinedWhereNoneIsNamed) {
    EXPECT_EQ(commandsFor({"--help"}), commandsFor({}));
    EXPECT_EQ(commandsFor({"nonsense"}), commandsFor({}));
}

TEST(CommandLine, TheHelpHasAllCommandsUnlessOneIsMeant) {
    for (const Names& words :
         {Names{}, Names{"--help"}, Names{"-H", "devices"}, Names{"-H", "devices", "--help"}})
        EXPECT_NE(printed(words).find("jupyter"), std::string::npos)
            << testing::PrintToString(words);
    for (const Names& words : {Names{"devices", "--help"}, Names{"--help", "devices"}}) {
        EXPECT_NE(printed(words).find("--timestamp"), std::string::npos);
        EXPECT_EQ(printed(words).find("jupyter"), std::string::npos);
    }
}

TEST(CommandLine, TheVersionIsToldWhateverIsNamed) {
    const std::string version = printed({"--version"});
    EXPECT_EQ(version.substr(0, 5), "genv ");
    EXPECT_EQ(printed({"devices", "--version"}), version);
}

TEST(CommandLine, HelpPrintsTheHelpOfACommand) {
    EXPECT_EQ(printed({"help"}), printed({"--help"}));
    EXPECT_EQ(printed({"help", "attach"}), printed({"attach", "--help"}));
    EXPECT_EQ(printed({"help", "devices", "find"}), printed({"devices", "find", "--help"}));
    EXPECT_EQ(printed({"help", "help"}), printed({"help", "--help"}));
    EXPECT_EQ(printed({"help", "envs", "config", "gpus"}),
              printed({"envs", "config", "gpus", "--help"}));
}

TEST(CommandLine, TheHelpHasTheSameTitlesWithEachVersionOfTheLibrary) {
    for (const auto& [options, commands] :
         {std::pair{"Options", "Subcommands"}, std::pair{"OPTIONS", "SUBCOMMANDS"}}) {
        CLI::App app("Try the titles", "program");
        app.formatter(core::helpFormatter());
        app.get_help_ptr()->group(options);
        app.add_subcommand("one", "A command")->group(commands);
        const std::string help = app.help();
        EXPECT_NE(help.find("\nOptions:\n"), std::string::npos) << help;
        EXPECT_NE(help.find("\nCommands:\n"), std::string::npos) << help;
    }
}

TEST(CommandLine, HelpRejectsUnknownCommands) {
    std::string program = "genvctl";
    std::string help = "help";
    std::string command = "devices";
    std::string unknown = "x";
    std::vector<char*> words{program.data(), help.data(), command.data(), unknown.data()};
    testing::internal::CaptureStderr();
    EXPECT_EQ(runCommandLine(static_cast<int>(words.size()), words.data()), 2);
    EXPECT_EQ(testing::internal::GetCapturedStderr(),
              "genvctl: unknown command \"x\" for \"genvctl devices\"\n"
              "See \"genvctl devices --help\" for the commands.\n");
}

TEST(CommandLine, EveryCommandHasExamplesThatCanBeParsed) {
    withCommandLine(expectExamples);
}

TEST(CommandLine, UsageErrorsNameTheWordThatWasProbablyMeant) {
    const auto meant = [](const std::vector<std::string>& words) {
        const std::string text = rejection(words);
        const std::string before = "\nDid you mean \"";
        const std::size_t begin = text.find(before);
        if (begin == std::string::npos)
            return std::string();
        const std::size_t end = text.find("\"? See \"genvctl", begin);
        return text.substr(begin + before.size(), end - begin - before.size());
    };
    EXPECT_EQ(meant({"atach"}), "attach");
    EXPECT_EQ(meant({"stauts"}), "status");
    EXPECT_EQ(meant({"devices", "fnd"}), "find");
    EXPECT_EQ(meant({"attach", "--gpu=2"}), "--gpus");
    EXPECT_EQ(meant({"run", "--lifetme", "2h"}), "--lifetime");
    EXPECT_EQ(meant({"status", "--jsno"}), "--json") << "a global option";
    EXPECT_EQ(meant({"frobnicate"}), "");
    EXPECT_EQ(meant({"attach", "--frob"}), "");
    EXPECT_EQ(meant({"status", "x"}), "");
}

TEST(CommandLine, AnOptionalTimeMayBeTheNextWord) {
    using Words = std::vector<std::string>;
    const auto joined = [](const Words& words) {
        Words result;
        withCommandLine([&](const CLI::App& app) { result = withOptionalTimes(app, words); });
        return result;
    };
    EXPECT_EQ(joined({"attach", "--wait", "2h"}), (Words{"attach", "--wait=2h"}));
    EXPECT_EQ(joined({"-H", "run", "run", "--wait", "1h 30min", "--", "true"}),
              (Words{"-H", "run", "run", "--wait=1h 30min", "--", "true"}));
    EXPECT_EQ(joined({"remote", "-H", "a", "run", "--gpus", "1", "--wait", "30s", "sleep", "5s"}),
              (Words{"remote", "-H", "a", "run", "--gpus", "1", "--wait=30s", "sleep", "5s"}));
    EXPECT_EQ(joined({"run", "--wait", "2", "--", "true"}),
              (Words{"run", "--wait=2", "--", "true"}));
    for (const Words& same :
         {Words{"run", "--wait", "sleep", "5s"}, Words{"run", "--wait", "7z", "x"},
          Words{"run", "--wait=2h", "5s"}, Words{"run", "--wait", "--", "2h"},
          Words{"run", "program", "--wait", "2h"}, Words{"run", "--", "program", "--wait", "2h"},
          Words{"attach", "--wait"}, Words{"attach", "--wait", "--gpus", "2"},
          Words{"activate", "--name", "--wait", "2h"}, Words{"attach", "--wait", "h"}})
        EXPECT_EQ(joined(same), same);
}

TEST(CommandLine, UsageErrorsNameTheWordAndWhatIsExpected) {
    EXPECT_EQ(rejection({"attach", "--frob"}), "unknown option \"--frob\" for \"genvctl attach\"\n"
                                               "See \"genvctl attach --help\".");
    EXPECT_EQ(rejection({"frob"}), "unknown command \"frob\" for \"genvctl\"\n"
                                   "See \"genvctl --help\" for the commands.");
    const auto firstLine = [](const std::vector<std::string>& words) {
        const std::string text = rejection(words);
        return text.substr(0, text.find('\n'));
    };
    EXPECT_EQ(firstLine({"--frob"}), "unknown option \"--frob\" for \"genvctl\"");
    EXPECT_EQ(firstLine({"status", "x"}), "unexpected argument \"x\" for \"genvctl status\"");
    EXPECT_EQ(firstLine({"attach", "--count"}), "missing value for --gpus");
    EXPECT_EQ(firstLine({"devices", "find"}), "missing option --id");
    EXPECT_EQ(firstLine({"policy", "check"}), "missing argument FILE");
    EXPECT_EQ(firstLine({"isolation"}), "missing command");
    EXPECT_EQ(firstLine({"run"}), "missing argument COMMAND");
    EXPECT_EQ(firstLine({"attach", "--count", "x"}),
              "invalid value \"x\" for --gpus: expected a number");
    EXPECT_EQ(firstLine({"monitor", "--port", "70000"}),
              "invalid value \"70000\" for --port: expected 0-65535");
    EXPECT_EQ(firstLine({"history", "-n", "0"}),
              "invalid value \"0\" for --lines: expected a positive number");
    EXPECT_EQ(firstLine({"--json=yaml", "devices"}),
              "invalid value \"yaml\" for --json: expected short, pretty or off");
    EXPECT_EQ(firstLine({"config", "name", "a", "--clear"}),
              "VALUE cannot be combined with --clear");
    EXPECT_EQ(firstLine({"envs", "find"}), "missing option --pid or --kernel-id");
}

} // namespace
} // namespace genv::ctl
