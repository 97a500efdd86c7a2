// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/settings/suggested_settings.hpp"

#include "core/base/duration.hpp"
#include "core/base/text.hpp"
#include "core/settings/limit_definitions.hpp"
#include "core/settings/rule_definitions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <variant>

namespace genv::core {

namespace {

using namespace std::chrono_literals;

constexpr std::string_view enforcementSection = "Enforcement";
constexpr std::string_view limitsSection = "Limits";

// Long enough to save work.
constexpr std::chrono::milliseconds suggestedGrace = 5min;
// Longer than a day of lessons, shorter than a night.
constexpr std::chrono::milliseconds classLifetime = 12h;

std::string_view flagText(bool value) {
    return value ? "yes" : "no";
}

template <typename Value>
std::string_view keyOf(std::optional<Value> Limits::*member) {
    return std::ranges::find(limitDefinitions(), LimitDefinition::Member(member),
                             &LimitDefinition::member)
        ->key;
}

std::string_view keyOf(bool RuleSwitches::*member) {
    return std::ranges::find(switchedRules(), member,
                             [](const SwitchedRule& rule) { return rule.toggle.member; })
        ->toggle.key;
}

using Suggestions = std::vector<SuggestedSetting>;

void addRules(Suggestions& settings, const PolicyAnswers& answers) {
    const Settings defaults;
    const bool isCluster = answers.use == MachineUse::Cluster;
    settings.push_back(
        {enforcementSection, keyOf(&RuleSwitches::nonEnvProcesses),
         std::string(flagText(answers.endsOutside)),
         std::string(flagText(defaults.rules.nonEnvProcesses)),
         answers.endsOutside
             ? fmt::format("genvd ends processes on GPUs outside every {}, after a warning. This "
                           "affects users who start programs without {}, but not root.",
                           isCluster ? "job and environment" : "environment",
                           isCluster ? "Slurm" : "genv")
             : "Processes on GPUs outside every environment go on, and evade the limits. This "
               "affects all users who wait for these GPUs."});
    settings.push_back({enforcementSection, "Grace", formatDuration(suggestedGrace),
                        formatDuration(defaults.grace),
                        "genvd warns this long before a rule acts. This affects the users whom "
                        "the rule concerns: they can save their work."});
}

void addQueue(Suggestions& settings) {
    settings.push_back({"Queue", "Order", toString(QueueOrder::Fair), toString(Settings{}.order),
                        "If users wait for GPUs, the one who used least is next. This affects "
                        "users who submit many requests: others may overtake them."});
}

void addIsolation(Suggestions& settings, IsolationMode mode) {
    std::string comment = "Every user can open every GPU, whoever holds it. This affects all users "
                          "who hold GPUs.";
    if (mode == IsolationMode::Watch)
        comment = "The kernel counts opens of GPUs that their user does not hold, and refuses "
                  "none. This affects nobody. After two weeks, read \"genvctl isolation "
                  "refusals\", then set it to user.";
    else if (mode == IsolationMode::User)
        comment = "The kernel refuses to open a GPU that the user does not hold. This affects "
                  "programs that start outside environments, but not root and system users. "
                  "With watch, it only counts.";
    settings.push_back({"Isolation", "Isolation", toString(mode),
                        toString(Settings{}.isolation.mode), std::move(comment)});
}

void addSlurm(Suggestions& settings, const PolicyAnswers& answers) {
    constexpr std::string_view section = "Slurm";
    settings.push_back({section, "Devices", "all", "none",
                        "Only Slurm's jobs get GPUs. This affects users who ask genv for a GPU: "
                        "genvd refuses, and names the command of Slurm."});
    if (!answers.idleTimeout)
        return;
    constexpr std::string_view affects =
        "This affects jobs that waste GPUs, also interactive ones.";
    std::string_view action = "genvd warns the owner of an idle job, and does nothing else.";
    if (answers.idleAction == SlurmIdleAction::Cancel)
        action = "Slurm cancels an idle job after a warning.";
    else if (answers.idleAction == SlurmIdleAction::Requeue)
        action = "Slurm requeues an idle job after a warning.";
    settings.push_back({section, "IdleAction", toString(answers.idleAction),
                        toString(Settings{}.slurm.idleAction),
                        fmt::format("{} {}", action, affects)});
}

std::string gpuCount(const MachineFigures& figures) {
    return fmt::format("{} GPU{}", figures.gpus, figures.gpus == 1 ? "" : "s");
}

void addLimits(Suggestions& settings, const PolicyAnswers& answers, const MachineFigures& figures) {
    if (answers.maxDevices)
        settings.push_back(
            {limitsSection, keyOf(&Limits::maxDevices), std::to_string(*answers.maxDevices), "",
             fmt::format("A user may hold {} of {} at once. This affects all users but root: "
                         "requests for more wait or are refused, and no GPU is taken away.",
                         *answers.maxDevices, gpuCount(figures))});
    if (answers.use == MachineUse::Class)
        settings.push_back(
            {limitsSection, keyOf(&Limits::maxLifetime), formatDuration(classLifetime), "",
             "An environment ends at this age, so that nobody keeps a GPU overnight. This affects "
             "long programs; their owners are warned ten minutes and one minute before."});
    if (answers.idleTimeout)
        settings.push_back(
            {limitsSection, keyOf(&Limits::idleTimeout), formatDuration(*answers.idleTimeout), "",
             answers.use == MachineUse::Cluster
                 ? "A job counts as idle if it has not used its GPUs for this long. This affects "
                   "jobs only as IdleAction= says."
                 : "An environment loses a GPU that it has not used for this long, after a "
                   "warning. This affects forgotten shells and notebooks: their processes on the "
                   "GPU end."});
}

// Appends text as comment lines of a file.
void addComment(std::string& file, std::string_view text) {
    constexpr std::size_t width = 100;
    std::string line = "#";
    while (!text.empty()) {
        const std::string_view word = text.substr(0, text.find(' '));
        text.remove_prefix(std::min(word.size() + 1, text.size()));
        if (line.size() + 1 + word.size() > width) {
            file += line + '\n';
            line = "#";
        }
        line += fmt::format(" {}", word);
    }
    file += line + '\n';
}

std::string headerOf(const PolicyAnswers& answers, const MachineFigures& figures) {
    std::string text;
    const std::string assumed = figures.whyAssumed.empty()
                                    ? ""
                                    : fmt::format("(assumed: {}) ", printable(figures.whyAssumed));
    addComment(text, fmt::format("Suggested by \"genvctl policy suggest\" for {} {}of {}.",
                                 gpuCount(figures), assumed, wordsFor(answers.use).people));
    addComment(text, "genvd.conf(5) explains all settings. To undo a setting, use the value after "
                     "\"Undo:\"; to undo all of them, delete this file. Then run \"" +
                         std::string(commandToApply(answers)) + "\".");
    if (answers.use == MachineUse::Cluster)
        addComment(text, "Isolation and limits on users do not apply to jobs. For these, set "
                         "ConstrainDevices=yes in cgroup.conf, and limits in Slurm's accounts.");
    else if (!figures.noIsolation.empty())
        addComment(text, fmt::format("Without Isolation=, because this machine cannot guard GPUs: "
                                     "{}",
                                     printable(figures.noIsolation)));
    return text;
}

} // namespace

std::vector<SuggestedSetting> suggestedSettings(const PolicyAnswers& answers,
                                                const MachineFigures& figures) {
    Suggestions settings;
    addRules(settings, answers);
    if (answers.use == MachineUse::Cluster) {
        addSlurm(settings, answers);
    } else {
        addQueue(settings);
        if (figures.noIsolation.empty())
            addIsolation(settings, answers.isolation);
    }
    addLimits(settings, answers, figures);
    return settings;
}

std::string_view commandToApply(const PolicyAnswers& answers) {
    return answers.isolation == IsolationMode::None
               ? "systemctl reload genvd"
               : "systemctl restart genv-isolation && systemctl reload genvd";
}

std::string suggestedFile(const PolicyAnswers& answers, const MachineFigures& figures) {
    std::string file = headerOf(answers, figures);
    std::string_view section;
    for (const SuggestedSetting& setting : suggestedSettings(answers, figures)) {
        if (setting.section != section)
            file += fmt::format("\n[{}]\n", setting.section);
        section = setting.section;
        addComment(file, setting.comment);
        if (setting.value != setting.undo)
            addComment(file, fmt::format("Undo: {}={}", setting.key, setting.undo));
        file += fmt::format("{}={}\n", setting.key, setting.value);
    }
    return file;
}

} // namespace genv::core
