// SPDX-License-Identifier: LGPL-2.1-or-later
// The limits that apply to each user, and the look-up of users.
#include "core/settings/limits.hpp"
#include "tests/core/fakes.hpp"

#include <gtest/gtest.h>

namespace genv::tests {
namespace {

using namespace std::chrono_literals;
using core::Limits;
using core::LimitTable;
using core::UserInfo;

constexpr core::Gid students = 1101;
constexpr core::Gid theorists = 1102;
constexpr core::Gid staff = 1103;

const UserInfo student{alice, "alice", {students, theorists}};

// Returns a table whose groups are known.
LimitTable tableOf(const Limits& general, std::map<std::string, Limits> users,
                   std::map<std::string, Limits> groups) {
    LimitTable table{general, std::move(users), std::move(groups)};
    table.ids.groups.names = {
        {students, {"students"}}, {theorists, {"theorists"}}, {staff, {"staff"}}};
    return table;
}

Limits devices(std::uint32_t count) {
    Limits limits;
    limits.maxDevices = count;
    return limits;
}

TEST(Limits, GiveAUserOfWhomNothingIsKnownNoMoreThanTheUsualWeight) {
    Limits much;
    much.weight = 500;
    UserInfo unknown{bob, "1002", {}};
    unknown.isUnknown = true;
    const LimitTable table = tableOf({}, {{"alice", much}}, {{"staff", much}});
    EXPECT_EQ(table.weightOf(unknown), LimitTable{}.weightOf(student));
    EXPECT_EQ(table.weightOf(student), 500U);
}

TEST(Limits, AreUnlimitedWhereNothingIsSet) {
    EXPECT_EQ(LimitTable{}.of(student), Limits{});
}

TEST(Limits, AreTheGeneralOnesForWhoHasNoOther) {
    EXPECT_EQ((tableOf(devices(2), {{"bob", devices(9)}}, {{"staff", devices(8)}}).of(student)),
              devices(2));
}

TEST(Limits, OfAGroupReplaceTheGeneralOneAlsoDownwards) {
    EXPECT_EQ((tableOf(devices(4), {}, {{"students", devices(1)}}).of(student)), devices(1));
}

TEST(Limits, OfTheMostGenerousGroupApply) {
    EXPECT_EQ((tableOf(devices(4), {}, {{"students", devices(1)}, {"theorists", devices(3)}})
                   .of(student)),
              devices(3));
    EXPECT_EQ((tableOf(devices(4), {}, {{"students", devices(3)}, {"theorists", devices(1)}})
                   .of(student)),
              devices(3));
}

TEST(Limits, OfTheUserReplaceThoseOfTheGroupsAlsoDownwards) {
    EXPECT_EQ(
        (tableOf(devices(4), {{"alice", devices(0)}}, {{"students", devices(3)}}).of(student)),
        devices(0));
}

TEST(Limits, AreChosenEachOnItsOwn) {
    LimitTable table;
    table.general.maxDevices = 1;
    table.general.maxEnvironments = 2;
    table.general.maxProcesses = 3;
    table.general.maxLifetime = 1h;
    table.groups["students"].maxEnvironments = 5;
    table.groups["students"].maxGpuMemory = gigabytes(8);
    table.ids.groups.names = {{students, {"students"}}, {theorists, {"theorists"}}};
    table.groups["theorists"].maxGpuMemoryPerDevice = gigabytes(4);
    table.users["alice"].maxProcesses = 7;
    table.users["alice"].idleTimeout = 10min;
    Limits expected;
    expected.maxDevices = 1;
    expected.maxEnvironments = 5;
    expected.maxProcesses = 7;
    expected.maxGpuMemory = gigabytes(8);
    expected.maxGpuMemoryPerDevice = gigabytes(4);
    expected.maxLifetime = 1h;
    expected.idleTimeout = 10min;
    EXPECT_EQ(table.of(student), expected);
}

TEST(Limits, DoNotApplyToRootWhateverIsSet) {
    const LimitTable table{devices(1), {{"root", devices(1)}}, {{"root", devices(1)}}};
    EXPECT_EQ(table.of({root, "root", {root}}), Limits{});
}

TEST(Limits, ForAUserWithoutANameGoByTheUidAsText) {
    EXPECT_EQ((tableOf(devices(4), {{"1001", devices(1)}}, {}).of({alice, "1001", {}})),
              devices(1));
}

// -- sections that name a user or a group in another spelling

TEST(Limits, OfASectionApplyToTheUidThatItsNameStandsFor) {
    const std::string longName = std::string(40, 'j') + "@" + std::string(40, 'd') + ".example.com";
    for (const std::string& name :
         {std::string("CORP\\jdoe"), std::string("jdoe"), std::string("JDOE"),
          std::string("jane doe"), std::string("\u00c4nne"), longName}) {
        LimitTable table{devices(4), {{name, devices(1)}}, {}};
        EXPECT_EQ(table.of({alice, "someone", {}}), devices(4)) << "nobody is known by it";
        table.ids.users.names[alice] = {name};
        EXPECT_EQ(table.of({alice, "someone", {}}), devices(1)) << name;
        EXPECT_EQ(table.of({bob, "bob", {}}), devices(4)) << name;
    }
}

TEST(Limits, OfTheStrictestOfSeveralSectionsOfOneUserApply) {
    LimitTable table{devices(4), {{"jdoe", devices(3)}, {"CORP\\jdoe", devices(2)}}, {}};
    table.users["jdoe"].maxEnvironments = 1;
    table.ids.users.names[alice] = {"jdoe", "CORP\\jdoe"};
    core::Limits expected = devices(2);
    expected.maxEnvironments = 1;
    EXPECT_EQ(table.of({alice, "CORP\\jdoe", {}}), expected);
    EXPECT_EQ(table.enforcedOn({alice, "CORP\\jdoe", {}}), expected);
    EXPECT_EQ(core::describeSharedIds(table.ids.users, "User"),
              std::vector<std::string>{"[User CORP\\jdoe] and [User jdoe] name one user (1001): of "
                                       "each limit, the strictest counts"});
}

TEST(Limits, OfAGroupApplyInEverySpellingOfItsName) {
    LimitTable table{devices(4), {}, {{"CORP\\domain users", devices(1)}}};
    table.ids.groups.names[students] = {"CORP\\domain users"};
    EXPECT_EQ(table.of(student), devices(1));
    EXPECT_EQ(table.of({bob, "bob", {staff}}), devices(4));
}

TEST(Limits, OfAUserWhoWasNotThereWhenTheSettingsWereReadApplyByTheName) {
    LimitTable table{devices(4), {{"alice", devices(1)}}, {}};
    table.ids.users.nobody = {"alice"};
    EXPECT_EQ(table.of(student), devices(1));
}

// -- while the user database does not answer

TEST(Limits, OfASectionWithoutAnAnswerApplyWhereTheyAreStricterAndEndNobodysWork) {
    LimitTable table{devices(4), {{"jdoe", devices(1)}}, {{"guests", devices(2)}}};
    table.ids.users.unanswered = {"jdoe"};
    EXPECT_EQ(table.of(student), devices(1)) << "jdoe may be another name of alice";
    EXPECT_EQ(table.enforcedOn(student), devices(4));
    table.ids.users = {{{bob, {"jdoe"}}}, {}, {}};
    table.ids.groups.unanswered = {"guests"};
    EXPECT_EQ(table.of(student), devices(2)) << "she may be in the group";
    EXPECT_EQ(table.enforcedOn(student), devices(4));
    EXPECT_EQ(table.of({bob, "bob", {}}), devices(1)) << "a user's own section decides";
    EXPECT_EQ(table.enforcedOn({bob, "bob", {}}), devices(1));
    table.groups["students"] = devices(3);
    table.ids.groups.names[students] = {"students"};
    EXPECT_EQ(table.of(student), devices(3)) << "of several groups, the most generous decides";
    table.groups["guests"] = devices(9);
    EXPECT_EQ(table.of(student), devices(3));
    EXPECT_EQ(table.enforcedOn(student), devices(9));
    EXPECT_EQ(table.of({root, "root", {}}), Limits{});
}

const UserInfo unknown{alice, "1001", {}, true};

// The limit is 4 for everybody but alice, who has 1, and the staff, who have 9.
const LimitTable tableWithSections =
    tableOf(devices(4), {{"alice", devices(1)}}, {{"staff", devices(9)}});

TEST(Limits, OfAnUnknownUserAreTheStrictestThatAnybodyHas) {
    EXPECT_EQ(tableWithSections.of(unknown), devices(1));
    EXPECT_EQ((tableOf(devices(4), {}, {{"students", devices(2)}}).of(unknown)), devices(2));
    EXPECT_EQ((tableOf(devices(4), {}, {{"staff", devices(9)}}).of(unknown)), devices(4));
    EXPECT_EQ((tableOf({}, {{"bob", devices(3)}}, {}).of(unknown)), devices(3))
        << "who knows that it is not bob";
    EXPECT_EQ(
        (tableOf(devices(core::infinite<std::uint32_t>()), {{"bob", devices(3)}}, {}).of(unknown)),
        devices(3));
    EXPECT_EQ((tableOf({}, {{"bob", devices(core::infinite<std::uint32_t>())}}, {}).of(unknown)),
              Limits{});
    EXPECT_EQ(LimitTable{}.of(unknown), Limits{});
    EXPECT_EQ(tableWithSections.of({root, "0", {}, true}), Limits{}) << "root needs no database";
}

TEST(Limits, EndNobodysWorkThatMayBeAnothers) {
    EXPECT_EQ(tableWithSections.enforcedOn(unknown), devices(9));
    EXPECT_EQ((tableOf(devices(4), {{"bob", devices(0)}}, {}).enforcedOn(unknown)), devices(4));
    EXPECT_EQ((tableOf(devices(4), {{"bob", devices(core::infinite<std::uint32_t>())}}, {})
                   .enforcedOn(unknown)),
              Limits{});
    EXPECT_EQ((tableOf({}, {{"bob", devices(3)}}, {}).enforcedOn(unknown)), Limits{})
        << "most have none";
    EXPECT_EQ(tableWithSections.enforcedOn(student), devices(1)) << "she is known";
    EXPECT_EQ(tableWithSections.enforcedOn({root, "0", {}, true}), Limits{});
}

TEST(Users, AreDescribedAllAtOnceWhenTheLastIsKnown) {
    FakeUsers users;
    users.add(alice, "alice", {students});
    users.slow = true;
    std::vector<std::map<core::Uid, UserInfo>> answers;
    core::describeAll(users, {alice, bob}, [&](const auto& found) { answers.push_back(found); });
    EXPECT_TRUE(answers.empty());
    users.later();
    ASSERT_EQ(answers.size(), 1U);
    ASSERT_EQ(answers[0].size(), 2U);
    EXPECT_EQ(answers[0].at(alice).name, "alice");
    EXPECT_EQ(answers[0].at(alice).groups, std::vector<core::Gid>{students});
    EXPECT_EQ(answers[0].at(bob).name, "1002");
}

TEST(Users, AreDescribedAtOnceWhereTheyAreKnownOrNobodyIsAskedFor) {
    FakeUsers users;
    int answers = 0;
    core::describeAll(users, {alice, bob}, [&](const auto& found) {
        ++answers;
        EXPECT_EQ(found.size(), 2U);
    });
    core::describeAll(users, {}, [&](const auto& found) {
        ++answers;
        EXPECT_TRUE(found.empty());
    });
    EXPECT_EQ(answers, 2);
}

} // namespace
} // namespace genv::tests
