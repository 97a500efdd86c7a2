// SPDX-License-Identifier: LGPL-2.1-or-later
// Which commands are defined for a command line: those that it could mean, and all for the help.
#include "client/genvctl/command_line.hpp"

#include <CLI/CLI.hpp>
#include <gtest/gtest.h>

#include <string>

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

// What it prints where it is typed without a service.
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
    EXPECT_EQ(all.size(), 30U);
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

} // namespace
} // namespace genv::ctl
