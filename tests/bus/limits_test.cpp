// SPDX-License-Identifier: LGPL-2.1-or-later
// Quotas: a refusal names the limit and its number, privileged callers may exceed limits, and the
// rules spare grants that were approved above a limit.
#include "tests/bus/support/fixture.hpp"

#include <fstream>
#include <limits>

namespace genv::tests {
namespace {

constexpr const char* configuredLimits = "[Limits]\nMaxDevicesPerUser=1\nMaxEnvironmentsPerUser=2\n"
                                         "MaxGpuMemoryPerDevice=8g\nMaxGpuMemoryPerUser=16g\n"
                                         "[Group students]\nMaxDevicesPerUser=2\n"
                                         "[User carol]\nMaxDevicesPerUser=infinity\n";

class Limits : public BusTest {
  protected:
    Limits() { configure(configuredLimits); }

    void configure(const std::string& text) {
        std::ofstream(Service::configurationFolder() / "genvd.conf") << text;
        const Answer answer = asRoot->manager("Reload");
        EXPECT_TRUE(answer.ok()) << answer.text;
    }
    static Answer attach(Client& client, const std::string& id, std::uint32_t count) {
        return client.environment(id, "Attach", "a{sv}", 1, "count", "u", count);
    }
    static Answer setMemory(Client& client, const std::string& id, const char* amount) {
        return client.environment(id, "Configure", "a{sv}as", 1, "gpu-memory", "s", amount, 0);
    }
    static std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> limitsOf(Client& client,
                                                                                   core::Uid uid) {
        const Answer answer = client.manager("GetLimits", "u", uid);
        EXPECT_EQ(answer.error, "");
        std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> found;
        sd_bus_message* message = answer.message.get();
        sd_bus_message_enter_container(message, 'a', "{s(tt)}");
        const char* name = nullptr;
        std::uint64_t allowed = 0;
        std::uint64_t used = 0;
        while (sd_bus_message_read(message, "{s(tt)}", &name, &allowed, &used) > 0)
            found[name] = {allowed, used};
        return found;
    }
};

TEST_F(Limits, AreRefusedAtTheRequestWithTheirNumber) {
    const UserProcess shell(alice);
    const std::string id = activate(*asAlice, shell);
    ASSERT_TRUE(setMemory(*asAlice, id, "4g").ok());
    EXPECT_EQ(attach(*asAlice, id, 1).readUnsignedList(), std::vector<std::uint32_t>{0});
    const Answer second = attach(*asAlice, id, 2);
    EXPECT_EQ(second.error, error::quotaExceeded);
    EXPECT_EQ(second.text, "you may have 1 device, and this would make 2 (MaxDevicesPerUser)");
    EXPECT_EQ(devicesOf(id), "0") << "nothing changed";
    const Answer memory = setMemory(*asAlice, id, "9g");
    EXPECT_EQ(memory.error, error::quotaExceeded);
    EXPECT_NE(memory.text.find("MaxGpuMemoryPerDevice"), std::string::npos) << memory.text;
    service.waitForLog("refused dev.genv.Environment.Configure");
}

TEST_F(Limits, HoldForDevicesThatAnActivationNames) {
    const UserProcess hers(alice);
    const Answer answer = asAlice->manager("Activate", "a{sv}", 3, "pid", "u", hers.pid(),
                                           "gpu-memory", "s", "4g", "indices", "au", 2, 0U, 1U);
    EXPECT_EQ(answer.error, error::quotaExceeded);
    EXPECT_EQ(answer.text, "you may have 1 device, and this would make 2 (MaxDevicesPerUser)");
    EXPECT_EQ(environmentCount(), "0");
}

TEST_F(Limits, CountEnvironments) {
    const UserProcess first(alice);
    const UserProcess second(alice);
    const UserProcess third(alice);
    activate(*asAlice, first);
    const std::string id = activate(*asAlice, second);
    EXPECT_EQ(asAlice->manager("Activate", "a{sv}", 1, "pid", "u", third.pid()).error,
              error::quotaExceeded);
    EXPECT_EQ(
        asAlice->manager("Activate", "a{sv}", 2, "pid", "u", third.pid(), "id", "s", id.c_str())
            .error,
        "")
        << "joining makes no environment";
    EXPECT_EQ(environmentCount(), "2");
}

TEST_F(Limits, AreTheGroupsAndTheUsersOwn) {
    const UserProcess bobs(bob);
    const UserProcess carols(carol);
    const std::string his = activate(*asBob, bobs);
    ASSERT_TRUE(setMemory(*asBob, his, "1g").ok());
    EXPECT_TRUE(attach(*asBob, his, 2).ok()) << "students";
    EXPECT_EQ(attach(*asBob, his, 3).error, error::quotaExceeded);
    const std::string hers = activate(*asCarol, carols);
    ASSERT_TRUE(setMemory(*asCarol, hers, "1g").ok());
    EXPECT_TRUE(attach(*asCarol, hers, 4).ok());
}

TEST_F(Limits, TellsWhatIsAllowedAndUsed) {
    const UserProcess shell(bob);
    const std::string id = activate(*asBob, shell);
    ASSERT_TRUE(setMemory(*asBob, id, "4g").ok());
    ASSERT_TRUE(attach(*asBob, id, 2).ok());
    constexpr std::uint64_t none = std::numeric_limits<std::uint64_t>::max();
    auto found = limitsOf(*asBob, bob);
    EXPECT_EQ(found.size(), 9U);
    EXPECT_EQ(found["MaxPreemptibleDevices"], std::pair(std::uint64_t{0}, std::uint64_t{0}))
        << "unset, nothing is allowed";
    EXPECT_EQ(found["MaxDevicesPerEnvironment"], std::pair(none, std::uint64_t{2}));
    EXPECT_EQ(found["MaxDevicesPerUser"], std::pair(std::uint64_t{2}, std::uint64_t{2}));
    EXPECT_EQ(found["MaxEnvironmentsPerUser"], std::pair(std::uint64_t{2}, std::uint64_t{1}));
    EXPECT_EQ(found["MaxGpuMemoryPerUser"],
              std::pair(std::uint64_t{16'000'000'000}, std::uint64_t{8'000'000'000}));
    EXPECT_EQ(found["MaxGpuMemoryPerDevice"],
              std::pair(std::uint64_t{8'000'000'000}, std::uint64_t{4'000'000'000}));
    EXPECT_EQ(found["MaxProcessesPerUser"].first, none);
    EXPECT_EQ(limitsOf(*asAlice, carol)["MaxDevicesPerUser"].first, none);
    EXPECT_EQ(limitsOf(*asAlice, root)["MaxDevicesPerUser"].first, none);
}

TEST_F(Limits, NameTheUsersWithTheirOwnToEverybodyAndSayWhenTheyChange) {
    const auto named = [&] {
        return asAlice->property(managerPath, managerInterface, "LimitedUsers");
    };
    EXPECT_EQ(named(), "carol");
    bool changed = false;
    const Slot slot = asAlice->listen(
        "type='signal',interface='org.freedesktop.DBus.Properties',member='PropertiesChanged',"
        "path='/dev/genv/Manager'",
        [&](sd_bus_message* message) {
            sd_bus_message_skip(message, "s");
            sd_bus_message_enter_container(message, 'a', "{sv}");
            while (sd_bus_message_enter_container(message, 'e', "sv") > 0) {
                const char* name = nullptr;
                sd_bus_message_read(message, "s", &name);
                changed = changed || std::string(name) == "LimitedUsers";
                sd_bus_message_skip(message, "v");
                sd_bus_message_exit_container(message);
            }
        });
    configure("[Limits]\nMaxDevicesPerUser=1\n[User zoe]\nMaxDevicesPerUser=2\n"
              "[User bob]\nMaxLifetime=2h\n[Group students]\nMaxDevicesPerUser=2\n");
    asAlice->processUntil([&] { return changed; }, "the change to be announced");
    EXPECT_EQ(named(), "bob,zoe") << "those of users, in alphabetical order";
    configure("");
    EXPECT_EQ(named(), "");
}

TEST_F(Limits, SayWhenAPasswordWouldLiftThem) {
    const Rule rule("ask", "action.id == 'dev.genv.manager.exceed-limits'", "AUTH_ADMIN");
    const UserProcess shell(alice);
    const std::string id = activate(*asAlice, shell);
    ASSERT_TRUE(setMemory(*asAlice, id, "1g").ok());
    const Answer answer = attach(*asAlice, id, 2);
    EXPECT_EQ(answer.error, error::interactive);
    EXPECT_NE(answer.text.find("MaxDevicesPerUser"), std::string::npos) << answer.text;
    EXPECT_EQ(devicesOf(id), "");
}

TEST_F(Limits, YieldToRootAndToWhomARuleAllowsAndTheRulesSpareIt) {
    const UserProcess alices(alice);
    const UserProcess bobs(bob);
    const std::string hers = activate(*asAlice, alices);
    ASSERT_TRUE(setMemory(*asAlice, hers, "1g").ok());
    EXPECT_EQ(attach(*asRoot, hers, 2).readUnsignedList(), (std::vector<std::uint32_t>{0, 1}));
    const std::string his = activate(*asBob, bobs);
    ASSERT_TRUE(setMemory(*asBob, his, "1g").ok());
    {
        const Rule rule("exceed", "action.id == 'dev.genv.manager.exceed-limits' && "
                                  "subject.user == 'bob' && action.lookup('gpus') == '3'");
        EXPECT_TRUE(attach(*asBob, his, 3).ok());
    }
    EXPECT_EQ(attach(*asBob, his, 4).error, error::quotaExceeded);
    EXPECT_TRUE(asRoot->manager("Enforce", "a{sv}", 1, "max-devices-per-user", "u", 1U).ok());
    EXPECT_EQ(devicesOf(hers), "0,1") << "given by root";
    EXPECT_EQ(devicesOf(his), "0,1,2") << "allowed by the rule";
    service.restart(SIGKILL);
    EXPECT_TRUE(asRoot->manager("Enforce", "a{sv}", 1, "max-devices-per-user", "u", 1U).ok());
    EXPECT_EQ(devicesOf(his), "0,1,2") << "and still after a restart";
}

TEST_F(Limits, OfALifetimeAreCountedFromTheBeginning) {
    configure("[Limits]\nMaxLifetime=2h\n");
    const UserProcess shell(alice);
    const UserProcess other(alice);
    const std::string id = activate(*asAlice, shell);
    EXPECT_NE(asAlice->property(environmentPath(id), environmentInterface, "Expires"), "0")
        << "it is also the lifetime of those who name none";
    const Answer forever = asAlice->environment(id, "Configure", "a{sv}as", 0, 1, "lifetime");
    EXPECT_EQ(forever.error, error::quotaExceeded);
    EXPECT_NE(forever.text.find("its lease has to stay (MaxLifetime)"), std::string::npos)
        << forever.text;
    const Answer longer = asAlice->environment(id, "Configure", "a{sv}as", 1, "lifetime", "t",
                                               std::uint64_t{7201}, 0);
    EXPECT_EQ(longer.error, error::quotaExceeded);
    const Answer more = asAlice->manager("Activate", "a{sv}", 2, "pid", "u", other.pid(),
                                         "lifetime", "t", std::uint64_t{7201});
    EXPECT_EQ(more.error, error::quotaExceeded) << more.text;
    EXPECT_EQ(environmentCount(), "1");
    const Rule rule("exceed", "action.id == 'dev.genv.manager.exceed-limits'");
    EXPECT_TRUE(
        asAlice->environment(id, "Configure", "a{sv}as", 1, "lifetime", "t", std::uint64_t{7201}, 0)
            .ok());
}

TEST_F(Limits, ThatAreLoweredSpareWhatWasGrantedAlsoAfterARestart) {
    const std::string quick = "[Enforcement]\nInterval=1s\nGrace=0\n";
    const UserProcess shell(bob);
    const std::string id = activate(*asBob, shell);
    ASSERT_TRUE(setMemory(*asBob, id, "1g").ok());
    ASSERT_TRUE(attach(*asBob, id, 2).ok());
    configure(quick + "[Limits]\nMaxDevicesPerUser=1\n");
    service.waitForLog(
        "bob holds 2 GPUs, 1 more than 1 (MaxDevicesPerUser): kept until given back");
    const std::string kept = "environment " + id + " of bob is over a limit";
    service.waitForLog(kept);
    EXPECT_EQ(devicesOf(id), "0,1");
    EXPECT_EQ(attach(*asBob, id, 3).error, error::quotaExceeded);
    const UserProcess other(carol);
    const std::string idle = activate(*asCarol, other);
    ASSERT_TRUE(attach(*asCarol, idle, 1).ok());
    configure(quick + "[Limits]\nMaxDevicesPerUser=1\n[User carol]\nIdleTimeout=1s\n");
    service.restart(SIGKILL);
    waitUntil([&] { return devicesOf(idle).empty(); }, "a cycle that detaches an idle device");
    EXPECT_EQ(devicesOf(id), "0,1");
    configure(quick + "KeepGrants=no\n[Limits]\nMaxDevicesPerUser=1\n");
    waitUntil([&] { return devicesOf(id) == "0"; }, "the rule");
}

TEST_F(Limits, ThatAreLoweredSpareNothingFromAnAdministratorsEnforcement) {
    const UserProcess shell(bob);
    const std::string id = activate(*asBob, shell);
    ASSERT_TRUE(setMemory(*asBob, id, "1g").ok());
    ASSERT_TRUE(attach(*asBob, id, 2).ok());
    EXPECT_TRUE(asRoot->manager("Enforce", "a{sv}", 1, "max-devices-per-user", "u", 1U).ok());
    EXPECT_EQ(devicesOf(id), "0");
}

} // namespace
} // namespace genv::tests
