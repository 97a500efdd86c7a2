// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/settings/policy_answers.hpp"

#include "core/base/duration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

namespace genv::core {

namespace {

using std::chrono::milliseconds;
using namespace std::chrono_literals;

constexpr std::array useWords{
    MachineUseWords{MachineUse::Lab, "lab", "a research lab, whose members know each other",
                    "Suggest settings for a research lab"},
    MachineUseWords{MachineUse::Class, "class", "a class, whose students compete for GPUs",
                    "Suggest settings for a class of students"},
    MachineUseWords{MachineUse::Cluster, "cluster", "a cluster, where Slurm schedules all GPUs",
                    "Suggest settings for a node of a Slurm cluster"},
};

// The times between which a user chooses: a break, a meeting, a night.
constexpr std::array<milliseconds, 3> idleTimes{30min, 2h, 8h};
constexpr milliseconds shortIdleTime = idleTimes[0];
constexpr milliseconds usualIdleTime = idleTimes[1];

std::uint32_t halfOf(std::uint32_t gpus) {
    return gpus - gpus / 2;
}

// Enough for one program of each student; on large machines the GPUs of eight students.
std::uint32_t eighthOf(std::uint32_t gpus) {
    return std::max<std::uint32_t>(gpus / 8, 1);
}

// Adds a choice for each value of one answer. The usual choice is the one that changes nothing.
template <typename Value>
PolicyQuestion askFor(std::string text, Value PolicyAnswers::*answer, const PolicyAnswers& answers,
                      const std::vector<std::pair<Value, std::string>>& choices) {
    PolicyQuestion question{std::move(text), {}, 0};
    for (const auto& [value, choice] : choices) {
        if (value == answers.*answer)
            question.usual = question.choices.size();
        question.choices.push_back({choice, answers});
        question.choices.back().answers.*answer = value;
    }
    return question;
}

PolicyQuestion askForUse(const PolicyAnswers& answers, const MachineFigures& figures) {
    PolicyQuestion question{"Who uses this machine?", {}, 0};
    for (const MachineUseWords& words : useWords) {
        if (words.use == answers.use)
            question.usual = question.choices.size();
        question.choices.push_back({std::string(words.people), usualAnswers(words.use, figures)});
    }
    return question;
}

PolicyQuestion askForIsolation(const PolicyAnswers& answers) {
    return askFor("May users open a GPU that they do not hold?", &PolicyAnswers::isolation, answers,
                  {{IsolationMode::Watch, "yes, but the kernel counts such opens"},
                   {IsolationMode::User, "no, the kernel refuses"},
                   {IsolationMode::None, "yes"}});
}

PolicyQuestion askForOutside(const PolicyAnswers& answers) {
    return askFor("What happens to processes on GPUs outside every environment?",
                  &PolicyAnswers::endsOutside, answers,
                  {{true, "genvd warns their users, then ends them"}, {false, "nothing"}});
}

PolicyQuestion askForIdleTimeout(const PolicyAnswers& answers) {
    std::vector<std::pair<std::optional<milliseconds>, std::string>> choices;
    for (const milliseconds time : idleTimes)
        choices.emplace_back(time, "after " + formatDuration(time));
    choices.emplace_back(std::nullopt, "never");
    return askFor(answers.use == MachineUse::Cluster
                      ? "When does a job count as idle that does not use its GPUs?"
                      : "When does an environment lose a GPU that it does not use?",
                  &PolicyAnswers::idleTimeout, answers, choices);
}

PolicyQuestion askForIdleAction(const PolicyAnswers& answers) {
    return askFor("What happens to an idle job?", &PolicyAnswers::idleAction, answers,
                  {{SlurmIdleAction::Warn, "genvd warns its owner"},
                   {SlurmIdleAction::Cancel, "Slurm cancels it after a warning"},
                   {SlurmIdleAction::Requeue, "Slurm requeues it after a warning"}});
}

PolicyQuestion askForMaxDevices(const PolicyAnswers& answers, const MachineFigures& figures) {
    const std::set<std::uint32_t> numbers{1, eighthOf(figures.gpus), halfOf(halfOf(figures.gpus)),
                                          halfOf(figures.gpus)};
    std::vector<std::pair<std::optional<std::uint32_t>, std::string>> choices;
    for (const std::uint32_t number : numbers)
        choices.emplace_back(number, std::to_string(number));
    choices.emplace_back(std::nullopt, "any number");
    return askFor(figures.whyAssumed.empty()
                      ? fmt::format("How many GPUs of {} may a user hold at once?", figures.gpus)
                      : "How many GPUs may a user hold at once?",
                  &PolicyAnswers::maxDevices, answers, choices);
}

} // namespace

std::span<const MachineUseWords> machineUses() {
    return useWords;
}

const MachineUseWords& wordsFor(MachineUse use) {
    return *std::ranges::find(useWords, use, &MachineUseWords::use);
}

PolicyAnswers usualAnswers(MachineUse use, const MachineFigures& figures) {
    PolicyAnswers answers{use, IsolationMode::None, true, usualIdleTime, SlurmIdleAction::Warn, {}};
    if (use == MachineUse::Cluster)
        return answers;
    const bool isClass = use == MachineUse::Class;
    answers.maxDevices = isClass ? eighthOf(figures.gpus) : halfOf(figures.gpus);
    if (isClass)
        answers.idleTimeout = shortIdleTime;
    if (figures.noIsolation.empty())
        answers.isolation = isClass ? IsolationMode::User : IsolationMode::Watch;
    return answers;
}

std::optional<PolicyQuestion> policyQuestion(std::size_t number, const PolicyAnswers& answers,
                                             const MachineFigures& figures) {
    const bool isCluster = answers.use == MachineUse::Cluster;
    switch (number) {
    case 0:
        return askForUse(answers, figures);
    case 1: // isolation never guards GPUs of Slurm
        return isCluster || !figures.noIsolation.empty() ? std::nullopt
                                                         : std::optional(askForIsolation(answers));
    case 2:
        return askForOutside(answers);
    case 3:
        return askForIdleTimeout(answers);
    case 4: // limits do not apply to jobs
        if (!isCluster)
            return askForMaxDevices(answers, figures);
        return answers.idleTimeout ? std::optional(askForIdleAction(answers)) : std::nullopt;
    default:
        return std::nullopt;
    }
}

} // namespace genv::core
