// SPDX-License-Identifier: LGPL-2.1-or-later
// The identity of each uid: no uid gets another user's rights, whatever /etc/subuid says.
#include "core/base/user_database.hpp"
#include "service/isolation/identities.hpp"
#include "service/isolation/uid_claims.hpp"
#include "tests/service/temporary_folder.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

namespace genv::service::isolation {
namespace {

using core::IsolationSettings;
using core::Uid;

const std::map<std::string, Uid> users{{"root", 0},     {"alice", 1001}, {"bob", 1002},
                                       {"carol", 1003}, {"daemon", 1},   {"remote", 300000},
                                       {"erin", 62000}};

std::optional<Uid> findUser(const std::string& name) {
    const auto found = users.find(name);
    return found != users.end() ? std::optional<Uid>(found->second) : std::nullopt;
}

struct Made : Identities {
    Made(const std::string& subuid, const IsolationSettings& settings = {},
         const std::string& loginDefs = "", const std::string& passwd = "",
         const std::set<Uid>& people = {})
        : Identities(identitiesFrom({subuid, loginDefs, passwd}, settings, findUser, people)) {}

    /// Returns the kernel's entry: "exempt", the owner's uid, or "itself".
    [[nodiscard]] std::string whose(Uid uid) const {
        const IdentityBlock* best = nullptr;
        for (const IdentityBlock& block : blocks) {
            const std::uint64_t size = std::uint64_t{1} << (32 - block.prefixLength);
            if (uid >= block.first && uid - block.first < size &&
                (best == nullptr || block.prefixLength > best->prefixLength))
                best = &block;
        }
        if (best == nullptr)
            return "itself";
        return best->owner ? std::to_string(*best->owner) : "exempt";
    }
    [[nodiscard]] std::string complaint() const {
        return complaints.size() == 1 ? complaints.front()
                                      : std::to_string(complaints.size()) + " complaints";
    }
};

IsolationSettings exempting(std::vector<std::string> names, bool system = false) {
    IsolationSettings settings;
    settings.exemptSystem = system;
    settings.exemptUsers = std::move(names);
    return settings;
}

TEST(Identities, SubordinateUidsAreTheirOwners) {
    const Made made("alice:100000:65536\n# bob:1:1\n\n1002:165536:65536\n");
    EXPECT_EQ(made.whose(99999), "itself");
    EXPECT_EQ(made.whose(100000), "1001");
    EXPECT_EQ(made.whose(165535), "1001");
    EXPECT_EQ(made.whose(165536), "1002");
    EXPECT_EQ(made.whose(231071), "1002");
    EXPECT_EQ(made.whose(231072), "itself");
    EXPECT_TRUE(made.complaints.empty());
}

TEST(Identities, SystemUsersAreExemptByTheMachinesOwnBounds) {
    const Made usual("");
    for (const Uid uid : {1U, 999U, 61184U, 65519U})
        EXPECT_EQ(usual.whose(uid), "exempt") << uid;
    for (const Uid uid : {0U, 1000U, 61183U, 65520U, 65534U, 0xffffffffU})
        EXPECT_EQ(usual.whose(uid), "itself") << uid;
    const Made old("", {}, "# UID_MIN 3\nUID_MAX 60000\n  UID_MIN\t500\n");
    EXPECT_EQ(old.whose(499), "exempt");
    EXPECT_EQ(old.whose(500), "itself");
    const Made none("", exempting({"alice"}));
    EXPECT_EQ(none.whose(1), "itself");
    EXPECT_EQ(none.whose(61184), "exempt") << "genv-nvml has such a uid";
    EXPECT_EQ(none.whose(1001), "exempt");
}

TEST(Identities, AUserWithTheUidOfAServiceIsExemptAsASystemUserAlone) {
    const std::string passwd = "dave:x:61184:1::/:/bin/sh\nerin:x:62000:1::/:/bin/sh\n";
    const Made made("", exempting({}), "", passwd);
    for (const Uid uid : {61184U, 62000U, 65520U})
        EXPECT_EQ(made.whose(uid), "itself") << uid;
    for (const Uid uid : {61185U, 61999U, 62001U, 65519U})
        EXPECT_EQ(made.whose(uid), "exempt") << uid;
    EXPECT_EQ(Made("", {}, "", passwd).whose(62000), "exempt");
}

TEST(Identities, APersonWithTheUidOfAServiceIsNotExempt) {
    for (const bool system : {true, false}) {
        // Some of these uids are at the ends of blocks.
        const std::set<Uid> people{61184, 62000, 65519, 1001, 70000};
        const Made made("", exempting({}, system), "", "", people);
        for (const Uid uid : {61184U, 62000U, 65519U})
            EXPECT_EQ(made.whose(uid), std::to_string(uid));
        for (const Uid uid : {61185U, 61999U, 62001U, 65518U})
            EXPECT_EQ(made.whose(uid), "exempt") << uid;
        for (const Uid uid : {1001U, 70000U})
            EXPECT_EQ(made.whose(uid), "itself") << "no uid of a service: " << uid;
        const auto exempt = exemptUids(made.blocks);
        EXPECT_EQ(std::vector(exempt.end() - 2, exempt.end()),
                  (std::vector<UidRange>{{61185, 61999}, {62001, 65518}}));
    }
}

TEST(Identities, APersonIsExemptByName) {
    const Made made("", exempting({"erin"}, true), "", "", {62000, 62001});
    EXPECT_EQ(made.whose(62000), "exempt");
    EXPECT_EQ(made.whose(62001), "62001");
}

TEST(Identities, AreIncompleteWhereTheUserDatabaseDoesNotAnswer) {
    const auto silent = [](const std::string& name) -> std::optional<Uid> {
        if (name == "ldap")
            throw core::UserDatabaseError("no answer");
        return findUser(name);
    };
    EXPECT_TRUE(identitiesFrom({"alice:100000:1\n", "", ""}, {}, silent).isComplete);
    EXPECT_FALSE(identitiesFrom({"ldap:100000:1\n", "", ""}, {}, silent).isComplete);
    EXPECT_FALSE(identitiesFrom({}, exempting({"ldap"}), silent).isComplete);
}

TEST(Identities, ABoundThatWouldMakeUsersSystemUsersIsNotTaken) {
    for (const std::string value : {"100000", "-1", "x", "", "4294967296"}) {
        const Made made("", {}, "UID_MIN " + value + "\n");
        EXPECT_EQ(made.whose(999), "exempt");
        EXPECT_EQ(made.whose(1000), "itself");
        EXPECT_EQ(made.complaint(), "/etc/login.defs: invalid UID_MIN \"" + value +
                                        "\": expected at most 60000; system users are those below "
                                        "1000");
    }
}

TEST(Identities, AnUnknownNameExemptsNobody) {
    const Made made("", exempting({"mallory"}));
    EXPECT_EQ(made.blocks, Made("", exempting({})).blocks);
    EXPECT_EQ(made.complaint(),
              "IsolationExempt: unknown user \"mallory\": the name exempts nobody");
}

TEST(Identities, AnUnknownOwnerOwnsNothing) {
    const Made made("mallory:100000:65536\n", exempting({}));
    EXPECT_EQ(made.blocks, Made("", exempting({})).blocks);
    EXPECT_EQ(made.complaint(), "/etc/subuid: unknown user \"mallory\": nobody owns these uids");
}

TEST(Identities, WhatTwoUsersCanBecomeIsNobodys) {
    const Made made("alice:100000:1000\nbob:100500:1000\n", exempting({}));
    EXPECT_EQ(made.whose(100499), "1001");
    EXPECT_EQ(made.whose(100500), "itself");
    EXPECT_EQ(made.whose(100999), "itself");
    EXPECT_EQ(made.whose(101000), "1002");
    EXPECT_EQ(made.complaint(),
              "/etc/subuid: subordinate uids that alice [1001] and bob [1002] share "
              "belong to nobody (100500-100999)");
    EXPECT_EQ(Made("alice:100000:1000\nmallory:100500:1\n", exempting({})).whose(100500), "itself")
        << "also where one of both is unknown yet";
    const Made same("alice:100000:1000\n1001:100500:1000\n", exempting({}));
    EXPECT_EQ(same.whose(100700), "1001");
    EXPECT_TRUE(same.complaints.empty());
}

TEST(Identities, AUsersOwnUidStaysTheirs) {
    const Made made("alice:0:200000\n", exempting({}));
    for (const Uid uid : {0U, 1U, 1002U, 65534U, 65535U})
        EXPECT_EQ(made.whose(uid), "itself") << uid;
    EXPECT_EQ(made.whose(65536), "1001");
    EXPECT_EQ(made.complaints,
              (std::vector<std::string>{
                  "/etc/subuid: subordinate uids of alice [1001] are not exempt (61184-65519)",
                  "/etc/subuid: uids of users that are also subordinate uids of alice [1001] have "
                  "only their own rights (0-61183, 65520-65535)"}));
    const Made large("alice:100000:300000\n", exempting({}), "",
                     "carla:x:200000:200000::/:/bin/sh\nbroken\n+::::::\n");
    EXPECT_EQ(large.whose(200000), "itself");
    EXPECT_EQ(large.whose(199999), "1001");
    EXPECT_EQ(large.whose(200001), "1001");
}

TEST(Identities, WhatAnotherUserCanBecomeIsNotExempt) {
    const Made made("alice:60000:5536\nbob:900:10\n");
    EXPECT_EQ(made.whose(61184), "itself");
    EXPECT_EQ(made.whose(65519), "itself");
    EXPECT_EQ(made.whose(900), "itself");
    EXPECT_EQ(made.whose(899), "exempt");
    EXPECT_EQ(made.whose(910), "exempt");
    const Made named("alice:250000:100000\nremote:400000:10\n", exempting({"remote"}));
    EXPECT_EQ(named.whose(300000), "itself");
    EXPECT_EQ(named.whose(299999), "1001");
}

TEST(Identities, ContainersOfExemptUsersAreExempt) {
    const Made made("carol:100000:10\ndaemon:200000:10\nalice:100005:1\n",
                    exempting({"carol"}, true));
    EXPECT_EQ(made.whose(100000), "exempt");
    EXPECT_EQ(made.whose(200000), "exempt");
    EXPECT_EQ(made.whose(100005), "itself") << "alice can become it, and is not exempt";
}

TEST(Identities, ContainersOfRootsHaveNoRightsOfRoots) {
    const Made made("root:1000000:65536\n", exempting({}));
    EXPECT_EQ(made.whose(1000000), "itself");
    EXPECT_EQ(made.complaint(),
              "/etc/subuid: subordinate uids of root do not have the rights of root "
              "(1000000-1065535)");
}

TEST(Identities, ABrokenLineHasNoEffectAndTheOthersHave) {
    for (const std::string line :
         {"alice", "alice:1", "alice:100000:", "alice::5", ":100000:5", "alice:x:5", "alice:-1:5",
          "alice:100000:0", "alice:100000:5:", "alice:4294967295:1", "alice:4294967290:6",
          "alice:100000:4294967295", "alice:99999999999999999999:1", "alice:100000:1 "}) {
        const Made made(line + "\nbob:200000:1\n", exempting({}));
        EXPECT_EQ(made.whose(200000), "1002");
        EXPECT_EQ(made.complaint(), "/etc/subuid:1: invalid line \"" + line +
                                        "\": expected NAME:FIRST:COUNT; it has no effect");
    }
    EXPECT_EQ(Made("alice:4294967290:5\n").whose(4294967294), "1001");
}

TEST(Identities, NoTextOutsideTheRangeOfUidsIsAUid) {
    for (const char* text : {"", "x", "-1", "1 ", "1x", "4294967295", "4294967296"})
        EXPECT_EQ(parseUid(text), std::nullopt) << text;
    EXPECT_EQ(parseUid("4294967294"), 4294967294U);
}

TEST(Identities, NumbersAreReadAsNewuidmapReadsThem) {
    // Otherwise bob would count as the only user who can become 100000.
    const Made made("alice:0x186a0:010\nbob:100000:20\n", exempting({}));
    EXPECT_EQ(made.whose(100000), "itself");
    EXPECT_EQ(made.whose(100007), "itself");
    EXPECT_EQ(made.whose(100008), "1002");
}

// A few uids, each checked separately.
TEST(Identities, NoUidHasRightsThatTwoCouldUse) {
    std::mt19937 random(21); // NOLINT(cert-msc51-cpp): the same each time
    const auto below = [&](unsigned limit) { return static_cast<unsigned>(random() % limit); };
    const std::vector<std::string> names{"alice", "bob", "carol", "root", "mallory"};
    for (int round = 0; round < 500; ++round) {
        std::string text;
        std::map<Uid, std::set<std::string>> claims;
        for (unsigned line = below(6) + 1; line > 0; --line) {
            const std::string& name = names[below(5)];
            const Uid first = 100000 + below(60);
            const Uid count = below(20) + 1;
            text += name + ":" + std::to_string(first) + ":" + std::to_string(count) + "\n";
            for (Uid uid = first; uid < first + count; ++uid)
                claims[uid].insert(name);
        }
        const Made made(text, exempting({"carol"}));
        for (Uid uid = 99990; uid < 100090; ++uid) {
            const std::set<std::string>& who = claims[uid];
            std::string expected = "itself";
            if (who.size() == 1 && findUser(*who.begin()).value_or(0) != 0)
                expected =
                    *who.begin() == "carol" ? "exempt" : std::to_string(*findUser(*who.begin()));
            ASSERT_EQ(made.whose(uid), expected) << uid << " of\n" << text;
        }
    }
}

TEST(IdentityFiles, TellWhetherOneOfThemChanged) {
    const tests::TemporaryFolder etc;
    IdentityFiles files(etc.path());
    EXPECT_TRUE(files.haveChanged());
    EXPECT_FALSE(files.haveChanged());
    etc.write("subuid", "root:100000:1\n");
    EXPECT_TRUE(files.haveChanged());
    EXPECT_FALSE(files.haveChanged());
    etc.write("subuid", "root:100000:10\n");
    EXPECT_TRUE(files.haveChanged());
    std::filesystem::remove(etc.path() / "subuid");
    EXPECT_TRUE(files.haveChanged());
    etc.write("login.defs", "");
    EXPECT_TRUE(files.haveChanged());
}

TEST(IdentityFiles, AreReadWithTheUsersOfTheMachine) {
    const tests::TemporaryFolder etc;
    const IdentityFiles files(etc.path());
    EXPECT_EQ(files.read(exempting({}), {}).blocks, Made("", exempting({})).blocks);
    EXPECT_TRUE(files.read(exempting({}), {}).complaints.empty());
    etc.write("subuid", "daemon:100000:1\nno-such-user-here:200000:1\n");
    etc.write("login.defs", "UID_MIN 2\n");
    const Identities read = files.read(exempting({"root"}, true), {});
    ASSERT_EQ(read.complaints.size(), 1U);
    EXPECT_EQ(read.complaints[0],
              "/etc/subuid: unknown user \"no-such-user-here\": nobody owns these uids");
    EXPECT_EQ(std::ranges::count(read.blocks, IdentityBlock{100000, 32, std::nullopt}), 1)
        << "of daemon, a system user";
    std::filesystem::create_directory(etc.path() / "passwd");
    EXPECT_EQ(files.read(exempting({"root"}, true), {}).complaints.front(),
              "cannot read " + (etc.path() / "passwd").string());
}

} // namespace
} // namespace genv::service::isolation
