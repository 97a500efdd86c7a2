// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/command_line.hpp"
#include "client/genvctl/completion/completion.hpp"
#include "client/genvctl/definition/definition.hpp"
#include "client/genvctl/doctor/checks.hpp"

#include <CLI/CLI.hpp>
#include <gtest/gtest.h>

namespace genv::ctl {
namespace {

using Words = std::vector<std::string>;

std::vector<Candidate> fakeValues(ValueKind kind) {
    switch (kind) {
    case ValueKind::Environment:
        return {{"58", "alice: training"}, {"a:b@c", "bob"}};
    case ValueKind::OwnEnvironment:
        return {{"58", "alice: training"}};
    case ValueKind::Device:
        return {{"0", "free"}, {"1", "held by 58"}};
    case ValueKind::AttachedDevice:
        return {{"1", "held by 58"}};
    case ValueKind::UserLimit:
        return {{"alice=", ""}, {"bob=", ""}};
    case ValueKind::ComputeProcess:
        return {{"4711", ""}};
    default:
        return {{"live", ""}};
    }
}

Completion completed(const Words& words) {
    Completion completion;
    withCommandLine([&](const CLI::App& app) { completion = complete(app, words, fakeValues); });
    return completion;
}

Words candidates(const Words& words) {
    Words values;
    for (const Candidate& candidate : completed(words).candidates)
        values.push_back(candidate.value);
    return values;
}

TEST(Completion, OffersCommandsThatBeginSo) {
    EXPECT_EQ(candidates({"de"}), (Words{"deactivate", "detach", "devices"}));
    EXPECT_EQ(candidates({"devices", "d"}), (Words{"detach"}));
    EXPECT_EQ(candidates({"envs", "config", "g"}), (Words{"gpus", "gpu-memory"}));
    EXPECT_EQ(candidates({"--no-legend", "--json", "st"}), (Words{"status"}));
    EXPECT_EQ(candidates({"init"}), Words{}) << "hidden";
    EXPECT_FALSE(candidates({""}).empty());
    EXPECT_FALSE(candidates({}).empty());
}

TEST(Completion, OffersTheOptionsOfTheCommandAndOfThoseAboveIt) {
    EXPECT_EQ(candidates({"devices", "detach", "--"}),
              (Words{"--help", "--id", "--eid", "--index", "--quiet", "--no-header", "--format",
                     "--timestamp", "--wide", "--no-cleanup", "--reset", "--json", "--full",
                     "--no-legend", "--no-pager", "--host", "--cluster", "--no-ask-password",
                     "--version"}));
    EXPECT_EQ(candidates({"run", "--g"}), (Words{"--gpus", "--gpu-memory"}));
    EXPECT_EQ(candidates({"--shell"}), Words{}) << "hidden";
    EXPECT_EQ(candidates({"enforce", "--no-env"}), (Words{"--no-env-devices", "--no-env-memory"}));
    EXPECT_EQ(candidates({"activate", "--gpus", "1", "--na"}), (Words{"--name"}));
}

TEST(Completion, OffersOptionsWhereNothingElseCanCome) {
    EXPECT_FALSE(candidates({"activate", ""}).empty());
    EXPECT_EQ(candidates({"activate", "x"}), Words{});
}

TEST(Completion, OffersTheValuesOfAnOption) {
    EXPECT_EQ(candidates({"devices", "find", "--eid", ""}), (Words{"58", "a:b@c"}));
    EXPECT_EQ(candidates({"devices", "find", "--eid", "a:"}), (Words{"a:b@c"}));
    EXPECT_EQ(candidates({"devices", "find", "--eid=a"}), (Words{"--eid=a:b@c"}));
    EXPECT_EQ(candidates({"activate", "--id", ""}), (Words{"58"})) << "only those one can join";
    EXPECT_EQ(candidates({"activate", "--eid", ""}), (Words{"58"})) << "by its other name, too";
    EXPECT_EQ(candidates({"attach", "--index", ""}), (Words{"0", "1"}));
    EXPECT_EQ(candidates({"detach", "--index", ""}), (Words{"1"}));
    EXPECT_EQ(candidates({"--json=p"}), (Words{"--json=pretty"}));
    EXPECT_EQ(candidates({"devices", "--format", ""}), (Words{"tui", "csv"}));
    EXPECT_EQ(candidates({"usage", "snapshot", "--format", ""}), (Words{"json"}));
    EXPECT_EQ(candidates({"activate", "--name", ""}), Words{}) << "not options where a name goes";
}

TEST(Completion, GoesOnWithListsUntilSomethingElseComes) {
    EXPECT_EQ(candidates({"devices", "query", "--query", "index", "e"}), (Words{"eids"}));
    EXPECT_EQ(candidates({"enforce", "--max-devices-for-user", "alice=1", "b"}), (Words{"bob="}));
    EXPECT_EQ(candidates({"devices", "query", "--query", "index", "--no-l"}),
              (Words{"--no-legend"}));
}

TEST(Completion, OffersArgumentsInTheirPlaces) {
    EXPECT_EQ(candidates({"config", ""}), (Words{"gpus", "gpu-memory", "name", "preemptible"}));
    EXPECT_EQ(candidates({"config", "--save", "n"}), (Words{"name"}));
    EXPECT_EQ(candidates({"config", "name", "n"}), Words{});
    EXPECT_EQ(candidates({"terminate", "1", ""}), (Words{"4711"})) << "as many as one likes";
    EXPECT_EQ(candidates({"limits", "l"}), (Words{"live"}));
    EXPECT_EQ(candidates({"limits", "alice", "l"}), Words{}) << "only one";
    Words checks;
    for (const doctor::DoctorCheck& check : doctor::allChecks)
        checks.emplace_back(check.name);
    EXPECT_EQ(candidates({"doctor", ""}), checks);
    EXPECT_EQ(candidates({"doctor", "bus", "s"}), (Words{"service", "slurm", "shell"}));
    EXPECT_EQ(completed({"policy", "check", "x"}).kind, ValueKind::File);
}

TEST(Completion, OffersCommandsToDescribe) {
    EXPECT_EQ(candidates({"help", "de"}), (Words{"deactivate", "detach", "devices"}));
    EXPECT_EQ(candidates({"help", "devices", "f"}), (Words{"find"}));
    EXPECT_EQ(candidates({"help", "devices", "find", "q"}), Words{});
    EXPECT_EQ(candidates({"help", "nonsense", "d"}), Words{});
}

TEST(Completion, LeavesACommandAndItsWordsToTheShell) {
    const auto commandAt = [](const Words& words) {
        const Completion completion = completed(words);
        EXPECT_EQ(completion.kind, ValueKind::Command);
        EXPECT_TRUE(completion.candidates.empty());
        return completion.commandAt;
    };
    EXPECT_EQ(commandAt({"run", "pyt"}), 1U);
    EXPECT_EQ(commandAt({"run", "--gpus", "1", "pyt"}), 3U);
    EXPECT_EQ(commandAt({"run", "--wait", "2h", "pyt"}), 3U);
    EXPECT_EQ(commandAt({"run", "--gpus", "1", "--", "python", "--he"}), 4U);
    EXPECT_EQ(commandAt({"run", "python", "--gpus", ""}), 1U) << "python's own option";
}

TEST(Completion, WritesALineForEachAndNothingThatATerminalObeys) {
    EXPECT_EQ(completionText({ValueKind::Free, 0, {{"58", "alice: tr\x1bining"}, {"59", ""}}}),
              "values\n58\talice: tr\\x1bining\n59\n");
    EXPECT_EQ(completionText({ValueKind::Free, 0, {{"a\nb", ""}, {"\x1b", ""}, {"", ""}}}),
              "values\n");
    EXPECT_EQ(completionText({ValueKind::File, 0, {}}), "files\n");
    EXPECT_EQ(completionText({ValueKind::Command, 3, {}}), "command 3\n");
}

// An option without values would silently have no completions.
void expectKnown(const CLI::App& command) {
    const std::string path =
        commandPath(command.get_name().empty() ? *command.get_parent() : command);
    for (const CLI::Option* option : command.get_options()) {
        const bool takesValue = option->get_items_expected_max() > 0;
        if (takesValue && !option->get_group().empty()) {
            EXPECT_TRUE(Definition::of(command).traitsOf(*option).values.has_value())
                << path << " " << option->get_name(true, true)
                << " is defined without the values that it takes (OptionTraits::values)";
        }
    }
    for (const CLI::App* below : command.get_subcommands([](const CLI::App*) { return true; })) {
        if (below->get_name().empty() || !below->get_group().empty())
            expectKnown(*below);
    }
}

TEST(Completion, KnowsTheValuesOfEveryOption) {
    withCommandLine(expectKnown);
}

} // namespace
} // namespace genv::ctl
