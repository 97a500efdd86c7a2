// SPDX-License-Identifier: LGPL-2.1-or-later
// A user is a uid: groups of any size, and names in any spelling that the user database knows.
#include "tests/bus/support/fixture.hpp"

#include <fmt/format.h>

#include <fstream>
#include <limits>
#include <sstream>

namespace genv::tests {
namespace {

constexpr core::Uid jdoe = 1004;
constexpr const char* windowsName = "CORP\\jdoe";
constexpr const char* longName =
    "jdoe@a-long-department-name.of-a-long-company-name.example-country.example-continent.example";

// Adds lines to the user and group databases of the private bus, before and after what they have,
// for the lifetime of the object. The files are mounted over those of the machine, so they keep
// their inodes.
class Database {
  public:
    Database(const std::string& file, const std::string& first, const std::string& last)
        : file_(file) {
        std::ostringstream text;
        text << std::ifstream(file).rdbuf();
        before_ = text.str();
        write(first + before_ + last);
    }
    Database(const Database&) = delete;
    Database& operator=(const Database&) = delete;
    ~Database() { write(before_); }

  private:
    void write(const std::string& text) const {
        std::ofstream(file_, std::ios::in | std::ios::out | std::ios::trunc) << text;
    }
    std::string file_;
    std::string before_;
};

std::string groupOf(const std::string& name, int gid, const std::string& member, int others) {
    std::string line = fmt::format("{}:x:{}:", name, gid);
    for (int n = 0; n < others; ++n)
        line += fmt::format("{}-member-{},", name, n);
    return line + member + '\n';
}

std::string userLine(const std::string& name, core::Uid uid) {
    return fmt::format("{}:x:{}:{}:::/bin/sh\n", name, uid, uid);
}

class People : public BusTest {
  protected:
    void configure(const std::string& text) {
        std::ofstream(Service::configurationFolder() / "genvd.conf") << text;
        const Answer answer = asRoot->manager("Reload");
        EXPECT_TRUE(answer.ok()) << answer.text;
    }
    std::uint64_t devicesAllowedTo(core::Uid uid) {
        const Answer answer = asRoot->manager("GetLimits", "u", uid);
        EXPECT_EQ(answer.error, "");
        sd_bus_message* message = answer.message.get();
        sd_bus_message_enter_container(message, 'a', "{s(tt)}");
        const char* name = nullptr;
        std::uint64_t allowed = 0;
        std::uint64_t used = 0;
        while (sd_bus_message_read(message, "{s(tt)}", &name, &allowed, &used) > 0) {
            if (std::string(name) == "MaxDevicesPerUser")
                return allowed;
        }
        return 0;
    }
};

class PeopleInLargeGroups : public People {
  protected:
    // The first line is read in every look-up of a group.
    Database groups_{"/etc/group", groupOf("large", 1200, "bob", 3'500),
                     groupOf("huge", 1201, "carol", 100'000) + "strict:x:1202:nobody\n"};
};

TEST_F(PeopleInLargeGroups, HaveTheLimitsOfTheirGroupsAndOthersHaveTheirOwn) {
    configure("[Limits]\nMaxDevicesPerUser=2\n[Group large]\nMaxDevicesPerUser=3\n"
              "[Group huge]\nMaxDevicesPerUser=4\n[Group strict]\nMaxDevicesPerUser=0\n");
    EXPECT_EQ(devicesAllowedTo(alice), 2U);
    EXPECT_EQ(devicesAllowedTo(bob), 3U);
    EXPECT_EQ(devicesAllowedTo(carol), 4U);
    EXPECT_EQ(service.log().find("does not answer"), std::string::npos);
}

class PeopleOfADirectory : public People {
  protected:
    const std::vector<std::string> spellings_{windowsName,          "jdoe",     "JDOE",
                                              "corp\\JDoe",         longName,   "jane doe",
                                              "J\u00e4ne D\u00f6e", "jdoe@corp"};

    // The database accepts each spelling, and reports the user in the first one.
    static std::string lines(const std::vector<std::string>& spellings) {
        std::string text;
        for (const std::string& name : spellings)
            text += userLine(name, jdoe);
        return text;
    }
    Database users_{"/etc/passwd", "", lines(spellings_)};
    Database groups_{"/etc/group", "", "CORP\\domain users:x:1203:CORP\\jdoe\n"};
};

TEST_F(PeopleOfADirectory, HaveTheLimitsOfTheirSectionInAnySpelling) {
    for (const std::string& name : spellings_) {
        configure(
            fmt::format("[Limits]\nMaxDevicesPerUser=2\n[User {}]\nMaxDevicesPerUser=3\n", name));
        EXPECT_EQ(devicesAllowedTo(jdoe), 3U) << name;
        EXPECT_EQ(devicesAllowedTo(alice), 2U) << name;
    }
    configure("[Limits]\nMaxDevicesPerUser=2\n[User 1004]\nMaxDevicesPerUser=3\n");
    EXPECT_EQ(devicesAllowedTo(jdoe), 3U) << "a uid names its user";
    configure("[Limits]\nMaxDevicesPerUser=2\n[Group CORP\\domain users]\nMaxDevicesPerUser=3\n");
    EXPECT_EQ(devicesAllowedTo(jdoe), 3U);
}

TEST_F(PeopleOfADirectory, HaveTheStrictestOfSeveralSectionsAndTheLogSaysSo) {
    configure("[User jdoe]\nMaxDevicesPerUser=3\n[User CORP\\jdoe]\nMaxDevicesPerUser=2\n"
              "[User zoe]\nMaxDevicesPerUser=1\n");
    EXPECT_EQ(devicesAllowedTo(jdoe), 2U);
    service.waitForLog("[User CORP\\jdoe] and [User jdoe] name one user (1004)");
    service.waitForLog("unknown user \"zoe\": the section applies to nobody");
}

TEST_F(PeopleOfADirectory, AreNamedOnTheBusAndToRulesAsTheDatabaseDoes) {
    Client asJdoe(jdoe);
    const UserProcess shell(jdoe);
    const std::string id = activate(asJdoe, shell);
    EXPECT_EQ(asJdoe.property(environmentPath(id), environmentInterface, "User"), windowsName);
    const std::string snapshot = asRoot->manager("Snapshot").readString();
    EXPECT_NE(snapshot.find(R"("username":"CORP\\jdoe")"), std::string::npos) << snapshot;
    // JavaScript, too, writes one backslash as two.
    const Rule rule("directory", R"(action.lookup("owner") == "CORP\\jdoe")");
    EXPECT_TRUE(asBob->environment(id, "Deactivate").ok());
}

TEST_F(PeopleOfADirectory, AreMeantByMaxDevicesForUserInAnySpelling) {
    Client asJdoe(jdoe);
    const UserProcess shell(jdoe);
    activate(asJdoe, shell, 2);
    const auto findings = [&](const char* name) {
        const Answer answer =
            asRoot->manager("Enforce", "a{sv}", 3, "dry-run", "b", 1, "max-devices-per-user", "u",
                            1U, "max-devices-for-user", "a{su}", 1, name, 2U);
        EXPECT_EQ(answer.error, "") << answer.text;
        sd_bus_message* message = answer.message.get();
        int count = 0;
        sd_bus_message_enter_container(message, 'a', "(sa{sv})");
        while (sd_bus_message_skip(message, "(sa{sv})") > 0)
            ++count;
        return count;
    };
    EXPECT_GT(findings("alice"), 0);
    for (const std::string& name : spellings_)
        EXPECT_EQ(findings(name.c_str()), 0) << name;
}

class PeopleWithLongNames : public People {
  protected:
    Database users_{"/etc/passwd", "", userLine(longName, jdoe)};
};

TEST_F(PeopleWithLongNames, KeepThem) {
    Client asJdoe(jdoe);
    const UserProcess shell(jdoe);
    const std::string id = activate(asJdoe, shell);
    EXPECT_EQ(asJdoe.property(environmentPath(id), environmentInterface, "User"), longName);
}

} // namespace
} // namespace genv::tests
