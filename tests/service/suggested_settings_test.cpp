// SPDX-License-Identifier: LGPL-2.1-or-later
// The files that `genvctl policy suggest` writes, as genvd reads them.
#include "core/settings/suggested_settings.hpp"
#include "service/settings/settings_file.hpp"
#include "service/settings/settings_keys.hpp"
#include "tests/service/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <sstream>
#include <string>

namespace genv::tests {
namespace {

using namespace std::chrono_literals;
using core::MachineFigures;
using core::MachineUse;
using core::PolicyAnswers;

const std::string dropIn = "genvd.conf.d/50-suggested.conf";

// Reads a drop-in as genvd does. Fails for an error or a warning.
core::Settings readDropIn(const std::string& text) {
    const TemporaryFolder folder;
    folder.write(dropIn, text);
    const service::SettingsCheck check = service::checkSettingsFile(folder.path() / dropIn);
    EXPECT_EQ(check.errors, std::vector<std::string>{}) << text;
    EXPECT_EQ(check.warnings, std::vector<std::string>{}) << text;
    return service::readSettings(folder.path());
}

// Returns the answers that all paths through the questions lead to.
void useAllAnswers(const PolicyAnswers& answers, const MachineFigures& figures,
                   const std::function<void(const PolicyAnswers&)>& use, std::size_t number = 0) {
    if (number == core::policyQuestionCount) {
        use(answers);
        return;
    }
    const auto question = core::policyQuestion(number, answers, figures);
    if (!question) {
        useAllAnswers(answers, figures, use, number + 1);
        return;
    }
    for (const core::PolicyChoice& choice : question->choices)
        useAllAnswers(choice.answers, figures, use, number + 1);
}

core::Settings suggestedFor(MachineUse use, const MachineFigures& figures) {
    return readDropIn(core::suggestedFile(core::usualAnswers(use, figures), figures));
}

TEST(SuggestedSettings, OfEachUseAreTheSettingsInForce) {
    core::Settings lab;
    lab.rules.nonEnvProcesses = true;
    lab.grace = 5min;
    lab.order = core::QueueOrder::Fair;
    lab.isolation.mode = core::IsolationMode::Watch;
    lab.limits.general.maxDevices = 4;
    lab.limits.general.idleTimeout = 2h;
    EXPECT_EQ(suggestedFor(MachineUse::Lab, {8, "", ""}), lab);

    core::Settings ofClass = lab;
    ofClass.isolation.mode = core::IsolationMode::User;
    ofClass.limits.general.maxDevices = 1;
    ofClass.limits.general.maxLifetime = 12h;
    ofClass.limits.general.idleTimeout = 30min;
    EXPECT_EQ(suggestedFor(MachineUse::Class, {8, "", ""}), ofClass);

    core::Settings cluster;
    cluster.rules.nonEnvProcesses = true;
    cluster.grace = 5min;
    cluster.slurm.devices.all = true;
    cluster.limits.general.idleTimeout = 2h;
    EXPECT_EQ(suggestedFor(MachineUse::Cluster, {8, "", ""}), cluster);
}

TEST(SuggestedSettings, AreValidForAllAnswersOnAllMachines) {
    for (const MachineFigures& figures :
         {MachineFigures{1, "", ""}, MachineFigures{1024, "genvd is not running", ""},
          MachineFigures{4, "", "no\ncgroup2\n[Limits]\nMaxDevicesPerUser=0"}}) {
        useAllAnswers(core::usualAnswers(MachineUse::Lab, figures), figures,
                      [&](const PolicyAnswers& answers) {
                          const core::Settings settings =
                              readDropIn(core::suggestedFile(answers, figures));
                          EXPECT_EQ(settings.isolation.mode, answers.isolation);
                          EXPECT_EQ(settings.rules.nonEnvProcesses, answers.endsOutside);
                          EXPECT_EQ(settings.limits.general.idleTimeout, answers.idleTimeout);
                          EXPECT_EQ(settings.limits.general.maxDevices, answers.maxDevices);
                          if (answers.idleTimeout) {
                              EXPECT_EQ(settings.slurm.idleAction, answers.idleAction);
                          }
                      });
    }
}

TEST(SuggestedSettings, AreUndoneByTheValuesInTheirComments) {
    for (const core::MachineUseWords& words : core::machineUses()) {
        const MachineFigures figures{4, "", ""};
        std::istringstream text(
            core::suggestedFile(core::usualAnswers(words.use, figures), figures));
        const std::string undo = "# Undo: ";
        std::string undone;
        bool isUndone = false;
        for (std::string line; std::getline(text, line);) {
            const bool isSetting =
                !line.empty() && !line.starts_with('#') && !line.starts_with('[');
            if (line.starts_with(undo))
                undone += line.substr(undo.size()) + '\n';
            else if (!isSetting || !isUndone) // without such a line, it is the default itself
                undone += line + '\n';
            isUndone = line.starts_with(undo);
        }
        EXPECT_EQ(readDropIn(undone), core::Settings{}) << undone;
    }
}

TEST(SuggestedSettings, AreKeysOfGenvdConf) {
    for (const core::MachineUseWords& words : core::machineUses()) {
        const MachineFigures figures{4, "", ""};
        for (const core::SuggestedSetting& setting :
             core::suggestedSettings(core::usualAnswers(words.use, figures), figures)) {
            const auto section = service::findSection(setting.section);
            ASSERT_TRUE(section) << setting.section;
            EXPECT_TRUE(section->has(setting.key)) << setting.key;
            EXPECT_EQ(section->write(setting.key, core::Settings{}), setting.undo) << setting.key;
        }
    }
}

TEST(SuggestedSettings, SayWhatTheyAreBasedOn) {
    const auto header = [](MachineUse use, const MachineFigures& figures) {
        const std::string text = core::suggestedFile(core::usualAnswers(use, figures), figures);
        return text.substr(0, text.find("\n\n"));
    };
    EXPECT_NE(header(MachineUse::Lab, {8, "", ""}).find("for 8 GPUs of a "), std::string::npos);
    EXPECT_NE(header(MachineUse::Lab, {4, "genvd is not running", ""})
                  .find("for 4 GPUs (assumed: genvd is not running) of"),
              std::string::npos);
    EXPECT_NE(header(MachineUse::Class, {1, "", "no cgroup2"}).find("guard GPUs: no cgroup2"),
              std::string::npos);
    EXPECT_NE(header(MachineUse::Cluster, {4, "", ""}).find("ConstrainDevices=yes"),
              std::string::npos);
}

} // namespace
} // namespace genv::tests
