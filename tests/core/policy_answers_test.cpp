// SPDX-License-Identifier: LGPL-2.1-or-later
// The questions of `genvctl policy suggest`, and the usual answers.
#include "core/settings/policy_answers.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace genv::tests {
namespace {

using namespace std::chrono_literals;
using core::MachineFigures;
using core::MachineUse;
using core::PolicyAnswers;
using core::PolicyQuestion;
using core::usualAnswers;

MachineFigures machineWith(std::uint32_t count) {
    return {count, "", ""};
}

std::vector<PolicyQuestion> questionsOf(const PolicyAnswers& answers,
                                        const MachineFigures& figures) {
    std::vector<PolicyQuestion> questions;
    for (std::size_t number = 0; number < core::policyQuestionCount; ++number) {
        if (auto question = core::policyQuestion(number, answers, figures))
            questions.push_back(*std::move(question));
    }
    return questions;
}

std::vector<std::string> choiceTexts(const PolicyQuestion& question) {
    std::vector<std::string> texts;
    for (const core::PolicyChoice& choice : question.choices)
        texts.push_back(choice.text);
    return texts;
}

TEST(PolicyAnswers, LeaveAtLeastHalfOfTheGpusToOthers) {
    const auto quota = [](MachineUse use, std::uint32_t count) {
        return usualAnswers(use, machineWith(count)).maxDevices.value();
    };
    EXPECT_EQ(quota(MachineUse::Lab, 8), 4U);
    EXPECT_EQ(quota(MachineUse::Lab, 3), 2U) << "two users have GPUs at once";
    EXPECT_EQ(quota(MachineUse::Lab, 1), 1U);
    EXPECT_EQ(quota(MachineUse::Class, 4), 1U);
    EXPECT_EQ(quota(MachineUse::Class, 16), 2U);
    EXPECT_EQ(usualAnswers(MachineUse::Cluster, machineWith(8)).maxDevices, std::nullopt)
        << "limits do not apply to Slurm's jobs";
}

TEST(PolicyAnswers, StartWithCountingInALab) {
    EXPECT_EQ(usualAnswers(MachineUse::Lab, machineWith(4)).isolation, core::IsolationMode::Watch);
    EXPECT_EQ(usualAnswers(MachineUse::Class, machineWith(4)).isolation, core::IsolationMode::User);
    EXPECT_EQ(usualAnswers(MachineUse::Cluster, machineWith(4)).isolation,
              core::IsolationMode::None);
}

TEST(PolicyQuestions, KeepTheUsualAnswersIfTheUsualChoicesAreTaken) {
    for (const core::MachineUseWords& words : core::machineUses()) {
        for (const std::uint32_t count : {1U, 2U, 3U, 8U, 1024U}) {
            const PolicyAnswers usual = usualAnswers(words.use, machineWith(count));
            for (const PolicyQuestion& question : questionsOf(usual, machineWith(count)))
                EXPECT_EQ(question.choices.at(question.usual).answers, usual) << question.text;
        }
    }
}

TEST(PolicyQuestions, EachChangeOneAnswer) {
    const PolicyAnswers usual = usualAnswers(MachineUse::Lab, machineWith(4));
    const auto questions = questionsOf(usual, machineWith(4));
    ASSERT_EQ(questions.size(), 5U);
    for (const PolicyQuestion& question : questions) {
        std::set<std::string> texts;
        for (std::size_t i = 0; i < question.choices.size(); ++i) {
            EXPECT_TRUE(texts.insert(question.choices[i].text).second) << question.choices[i].text;
            EXPECT_EQ(question.choices[i].answers == usual, i == question.usual) << question.text;
        }
    }
    EXPECT_EQ(questions[1].choices[1].answers.isolation, core::IsolationMode::User);
    EXPECT_FALSE(questions[2].choices[1].answers.endsOutside);
    EXPECT_EQ(questions[3].choices[0].answers.idleTimeout, 30min);
    EXPECT_EQ(questions[3].choices.back().answers.idleTimeout, std::nullopt);
    EXPECT_EQ(questions[4].text, "How many GPUs of 4 may a user hold at once?");
    EXPECT_EQ(choiceTexts(questions[4]), (std::vector<std::string>{"1", "2", "any number"}));
    EXPECT_EQ(questions[4].choices.back().answers.maxDevices, std::nullopt);
}

TEST(PolicyQuestions, LeaveOutWhatSlurmOrTheKernelDecides) {
    const auto cluster =
        questionsOf(usualAnswers(MachineUse::Cluster, machineWith(4)), machineWith(4));
    ASSERT_EQ(cluster.size(), 4U);
    EXPECT_EQ(cluster[3].choices[2].answers.idleAction, core::SlurmIdleAction::Requeue);
    PolicyAnswers neverIdle = usualAnswers(MachineUse::Cluster, machineWith(4));
    neverIdle.idleTimeout.reset();
    EXPECT_EQ(questionsOf(neverIdle, machineWith(4)).size(), 3U);
    const MachineFigures old{4, "", "no cgroup2"};
    EXPECT_EQ(questionsOf(usualAnswers(MachineUse::Class, old), old).size(), 4U);
    EXPECT_EQ(usualAnswers(MachineUse::Class, old).isolation, core::IsolationMode::None);
}

TEST(PolicyQuestions, NameNoNumberOfGpusThatIsAssumed) {
    const MachineFigures assumed{core::assumedGpus, "genvd is not running", ""};
    const auto questions = questionsOf(usualAnswers(MachineUse::Lab, assumed), assumed);
    EXPECT_EQ(questions.back().text, "How many GPUs may a user hold at once?");
}

} // namespace
} // namespace genv::tests
