// SPDX-License-Identifier: LGPL-2.1-or-later
// The question and the details for each call. polkit knows every action in a question.
#include "policy/actions.hpp"
#include "policy/question.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>

namespace genv::tests {
namespace {

using policy::Action;
using policy::Target;

constexpr core::Uid alice = 1001;
constexpr core::Uid bob = 1002;

const policy::MethodRow& row(std::string_view interface, std::string_view member) {
    for (const policy::MethodRow& each : policy::methodTable) {
        if (each.interface == interface && each.member == member)
            return each;
    }
    throw std::logic_error("no such method");
}

Target environmentOf(core::Uid owner) {
    Target target;
    target.environment = "1573";
    target.owner = owner;
    target.ownerName = owner == alice ? "alice" : "bob";
    return target;
}

Action actionFor(std::string_view interface, std::string_view member, const Target& target) {
    const auto question = policy::questionFor(row(interface, member), alice, target);
    return question.value().action;
}

TEST(Question, IsNotAskedForReadingNorOfRoot) {
    for (const policy::MethodRow& each : policy::methodTable) {
        EXPECT_FALSE(policy::questionFor(each, 0, environmentOf(alice))) << each.member;
        EXPECT_EQ(policy::questionFor(each, alice, environmentOf(alice)).has_value(),
                  each.requirement != policy::Requirement::Free &&
                      each.requirement != policy::Requirement::ReadHistory)
            << each.member;
    }
}

TEST(Question, IsAskedAboutTheHistoryOfOthersAndOfEverybody) {
    const auto listEvents = row("dev.genv.Manager", "ListEvents");
    Target target;
    EXPECT_EQ(policy::questionFor(listEvents, alice, target)->message(),
              "Authentication is required to read the history of every user");
    target.owner = bob;
    target.ownerName = "bob";
    const auto question = policy::questionFor(listEvents, alice, target);
    EXPECT_EQ(question->action, Action::ReadHistory);
    EXPECT_EQ(question->details.at("uid"), "1002");
    EXPECT_EQ(question->message(), "Authentication is required to read the history of bob");
    target.owner = alice;
    EXPECT_FALSE(policy::questionFor(listEvents, alice, target).has_value());
}

TEST(Question, OfARequestForDevicesIsTheFirstThatApplies) {
    Target target = environmentOf(alice);
    EXPECT_EQ(actionFor("dev.genv.Manager", "Activate", target), Action::Activate);
    target.gpus = 1;
    EXPECT_EQ(actionFor("dev.genv.Manager", "Activate", target), Action::Attach);
    EXPECT_EQ(actionFor("dev.genv.Environment", "Attach", target), Action::Attach);
    target.overSubscribes = true;
    EXPECT_EQ(actionFor("dev.genv.Environment", "Attach", target), Action::OverSubscribe);
    target.withoutConsent = {{0}, {{bob, "bob"}}};
    EXPECT_EQ(actionFor("dev.genv.Environment", "Attach", target), Action::OverSubscribeOthers);
    EXPECT_EQ(actionFor("dev.genv.Manager", "Activate", target), Action::OverSubscribeOthers);
    target.owner = bob;
    EXPECT_EQ(actionFor("dev.genv.Environment", "Attach", target), Action::ManageOthers);
}

TEST(Question, NamesTheHoldersWhoDidNotConsentAndWhatToDo) {
    Target target = environmentOf(alice);
    target.gpus = 3;
    target.overSubscribes = true;
    target.devices = {0, 1, 2};
    target.withoutConsent = {{1, 2}, {{bob, "bob"}, {1003, "carol"}}};
    const auto question = policy::questionFor(row("dev.genv.Environment", "Attach"), alice, target);
    EXPECT_EQ(question->message(), "Authentication is required to share GPUs 1, 2 of bob, carol "
                                   "with environment 1573 of alice");
    EXPECT_EQ(question->remedy, "ask bob and carol to run \"genvctl config "
                                "--allow-over-subscribe\", or ask an administrator");
    EXPECT_EQ(question->details.at("holders"), "bob,carol");
    EXPECT_EQ(question->details.at("holder-uids"), "1002,1003");
    EXPECT_EQ(question->details.at("devices"), "0,1,2");
    target.withoutConsent = {};
    EXPECT_EQ(policy::questionFor(row("dev.genv.Environment", "Attach"), alice, target)
                  ->details.count("holders"),
              0U);
}

TEST(Question, AboutDevicesOfAnothersEnvironmentIsOfOthers) {
    Target target = environmentOf(alice);
    target.gpus = 1;
    target.parent = "1600";
    target.parentOwner = alice;
    target.parentOwnerName = "alice";
    EXPECT_EQ(actionFor("dev.genv.Manager", "Activate", target), Action::Attach);
    target.parentOwner = bob;
    target.parentOwnerName = "bob";
    const auto question = policy::questionFor(row("dev.genv.Manager", "Activate"), alice, target);
    EXPECT_EQ(question->action, Action::ManageOthers);
    EXPECT_EQ(question->message(), "Authentication is required to activate environment 1573 of "
                                   "alice within environment 1600 of bob");
    EXPECT_EQ(question->details.at("parent"), "1600");
    EXPECT_EQ(question->details.at("parent-uid"), "1002");
    EXPECT_EQ(actionFor("dev.genv.Environment", "Attach", target), Action::ManageOthers);
    target.gpus.reset();
    EXPECT_EQ(actionFor("dev.genv.Manager", "Activate", target), Action::ManageOthers)
        << "also without devices";
}

TEST(Question, TellsOnesOwnFromAnothers) {
    for (const char* member :
         {"Detach", "Configure", "AddProcess", "RemoveProcess", "RemoveProcessByPIDFD", "AddKernel",
          "RemoveKernel", "Deactivate", "Lock"}) {
        EXPECT_EQ(actionFor("dev.genv.Environment", member, environmentOf(alice)),
                  Action::ManageOwn)
            << member;
        EXPECT_EQ(actionFor("dev.genv.Environment", member, environmentOf(bob)),
                  Action::ManageOthers)
            << member;
    }
    EXPECT_EQ(actionFor("dev.genv.Manager", "TerminateProcess", environmentOf(alice)),
              Action::ManageOwn);
    EXPECT_EQ(actionFor("dev.genv.Manager", "TerminateProcess", environmentOf(bob)),
              Action::TerminateOthers);
    EXPECT_EQ(actionFor("dev.genv.Device", "Detach", environmentOf(alice)), Action::ManageOthers)
        << "a device is everybody's";
}

TEST(Question, OfTheLifetimeOfOnesOwnSlurmJobIsAnActionOfItsOwn) {
    Target job = environmentOf(alice);
    job.extendsJob = true;
    EXPECT_EQ(actionFor("dev.genv.Environment", "Configure", job), Action::ExtendJob);
    EXPECT_EQ(policy::questionFor(row("dev.genv.Environment", "Configure"), alice, job)->message(),
              "Authentication is required to extend the Slurm job of environment 1573 of alice");
    job.owner = bob;
    EXPECT_EQ(actionFor("dev.genv.Environment", "Configure", job), Action::ManageOthers);
}

TEST(Question, OfNobodyInParticularIsNeverOnesOwn) {
    EXPECT_EQ(actionFor("dev.genv.Environment", "Detach", Target{}), Action::ManageOthers);
    EXPECT_EQ(actionFor("dev.genv.Manager", "TerminateProcess", Target{}), Action::TerminateOthers);
}

TEST(Question, CarriesDetailsForRulesAndAMessageForPeople) {
    Target target = environmentOf(bob);
    target.devices = {0, 2};
    target.gpus = 2;
    const auto question = policy::questionFor(row("dev.genv.Environment", "Attach"), alice, target);
    const std::map<std::string, std::string> details{{"environment", "1573"},
                                                     {"owner", "bob"},
                                                     {"uid", "1002"},
                                                     {"devices", "0,2"},
                                                     {"gpus", "2"}};
    EXPECT_EQ(question->details, details);
    EXPECT_EQ(question->message(),
              "Authentication is required to attach GPUs to environment 1573 of bob (GPUs 0, 2)");

    Target process;
    process.pid = 4711;
    process.owner = bob;
    process.ownerName = "bob";
    EXPECT_EQ(
        policy::questionFor(row("dev.genv.Manager", "TerminateProcess"), alice, process)->message(),
        "Authentication is required to terminate process 4711 of bob");
    process.ownerName.clear();
    EXPECT_EQ(
        policy::questionFor(row("dev.genv.Manager", "TerminateProcess"), alice, process)->message(),
        "Authentication is required to terminate process 4711");
    Target device;
    device.devices = {3};
    EXPECT_EQ(policy::questionFor(row("dev.genv.Device", "Detach"), alice, device)->message(),
              "Authentication is required to detach GPU 3")
        << "from all who hold it";
    EXPECT_EQ(policy::questionFor(row("dev.genv.Manager", "Reload"), alice, Target{})->message(),
              "Authentication is required to reload the configuration of the GPU service");
}

TEST(Question, AsksOnceMoreAboutAQuotaButNotRoot) {
    Target target = environmentOf(alice);
    target.gpus = 3;
    const auto attach = row("dev.genv.Environment", "Attach");
    const auto question = policy::quotaQuestionFor(attach, alice, target);
    ASSERT_TRUE(question.has_value());
    EXPECT_EQ(question->action, Action::ExceedLimits);
    EXPECT_EQ(question->details.at("gpus"), "3");
    EXPECT_EQ(question->message(),
              "Authentication is required to go over a limit to attach GPUs to "
              "environment 1573 of alice");
    EXPECT_FALSE(policy::quotaQuestionFor(attach, 0, target).has_value());
}

TEST(Question, LetsAnybodyAskWhatAnEnforcementWouldDo) {
    Target target;
    const auto enforce = row("dev.genv.Manager", "Enforce");
    EXPECT_EQ(policy::questionFor(enforce, alice, target)->action, Action::Enforce);
    target.dryRun = true;
    EXPECT_FALSE(policy::questionFor(enforce, alice, target).has_value());
    EXPECT_TRUE(
        policy::questionFor(row("dev.genv.Manager", "Execute"), alice, Target{}).has_value());
}

TEST(PolicyFile, DeclaresExactlyTheActionsThatAreAskedAbout) {
    std::ifstream file(GENV_POLICY_FILE);
    ASSERT_TRUE(file) << GENV_POLICY_FILE;
    const std::string text((std::istreambuf_iterator<char>(file)),
                           std::istreambuf_iterator<char>());
    const std::regex action("<action id=\"([^\"]+)\">");
    std::set<std::string> declared;
    for (auto i = std::sregex_iterator(text.begin(), text.end(), action);
         i != std::sregex_iterator(); ++i)
        EXPECT_TRUE(declared.insert((*i)[1]).second) << (*i)[1] << " stands twice";
    std::set<std::string> asked;
    for (const policy::ActionId& each : policy::actionIds)
        asked.emplace(each.id);
    EXPECT_EQ(declared, asked);
}

TEST(PolicyFile, HasTheDocumentedDefaults) {
    std::ifstream file(GENV_POLICY_FILE);
    const std::string text((std::istreambuf_iterator<char>(file)),
                           std::istreambuf_iterator<char>());
    const std::map<std::string, std::string> defaults{
        {"activate", "yes"},
        {"attach", "yes"},
        {"over-subscribe", "yes"},
        {"manage-own", "yes"},
        {"manage-others", "auth_admin"},
        {"terminate-others", "auth_admin"},
        {"exceed-limits", "no"},
        {"enforce", "auth_admin"},
        {"configure", "auth_admin"},
        {"read-history", "auth_admin"},
        {"extend-job", "no"},
    };
    for (const auto& [action, answer] : defaults) {
        const std::regex wanted("id=\"dev\\.genv\\.manager\\." + action +
                                "\">(?:(?!</action>)[^])*<allow_any>" + answer +
                                "</allow_any>\\s*<allow_inactive>" + answer +
                                "</allow_inactive>\\s*<allow_active>" + answer + "</allow_active>");
        EXPECT_TRUE(std::regex_search(text, wanted)) << action;
    }
}

} // namespace
} // namespace genv::tests
