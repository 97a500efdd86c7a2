// SPDX-License-Identifier: LGPL-2.1-or-later
// Environments on loan: who lends, what the bus shows of it, and what counts towards a quota.
#include "tests/bus/support/fixture.hpp"

#include <signal.h>

#include <fstream>

namespace genv::tests {
namespace {

class Lending : public BusTest {
  protected:
    Lending() {
        std::ofstream(Service::configurationFolder() / "genvd.conf")
            << "[Limits]\nMaxDevicesPerUser=1\nMaxPreemptibleDevices=2\n";
        const Answer answer = asRoot->manager("Reload");
        EXPECT_TRUE(answer.ok()) << answer.text;
    }
    std::string preemptible(const std::string& id) {
        return asCarol->property(environmentPath(id), environmentInterface, "Preemptible");
    }
    static Answer set(Client& client, const std::string& id, const char* kind) {
        return client.environment(id, "Configure", "a{sv}as", 1, "preemptible", "s", kind, 0);
    }
    static Answer attach(Client& client, const std::string& id, std::uint32_t count,
                         const char* kind) {
        return client.environment(id, "Attach", "a{sv}", 2, "count", "u", count, "preemptible", "s",
                                  kind);
    }
    Answer start(const char* kind) {
        return asAlice->manager("Activate", "a{sv}", 3, "pid", "u", alices.pid(), "gpus", "u", 3U,
                                "preemptible", "s", kind);
    }

    const UserProcess alices{alice};
    const UserProcess bobs{bob};
};

TEST_F(Lending, IsNoneUnlessItsOwnerAsksForIt) {
    const std::string hers = activate(*asAlice, alices);
    EXPECT_EQ(preemptible(hers), "no");
    EXPECT_EQ(set(*asBob, hers, "park").error, error::interactive) << "nobody lends for another";
    EXPECT_EQ(attach(*asBob, hers, 1, "park").error, error::interactive);
    EXPECT_EQ(set(*asAlice, hers, "perhaps").error, error::invalidArgs);
    EXPECT_EQ(asAlice->environment(hers, "Configure", "a{sv}as", 1, "preemptible", "b", 1, 0).error,
              error::invalidArgs);
    for (const char* kind : {"park", "end", "no", "park"}) {
        EXPECT_TRUE(set(*asAlice, hers, kind).ok());
        EXPECT_EQ(preemptible(hers), kind);
    }
    EXPECT_TRUE(asAlice->environment(hers, "Configure", "a{sv}as", 0, 1, "preemptible").ok());
    EXPECT_EQ(preemptible(hers), "no");
}

TEST_F(Lending, IsAnnounced) {
    const std::string hers = activate(*asAlice, alices);
    std::string changed;
    const Slot slot = asBob->listen(
        "type='signal',interface='org.freedesktop.DBus.Properties',member='PropertiesChanged'",
        [&](sd_bus_message* message) {
            const char* name = nullptr;
            sd_bus_message_skip(message, "s");
            sd_bus_message_enter_container(message, 'a', "{sv}");
            while (sd_bus_message_enter_container(message, 'e', "sv") > 0) {
                sd_bus_message_read(message, "s", &name);
                changed = name;
                sd_bus_message_skip(message, "v");
                sd_bus_message_exit_container(message);
            }
        });
    EXPECT_TRUE(set(*asAlice, hers, "end").ok());
    asBob->processUntil([&] { return changed == "Preemptible"; }, "the signal");
}

TEST_F(Lending, LetsTheOwnerHaveMoreThanTheQuotaAndOutlivesACrash) {
    EXPECT_EQ(start("no").error, error::quotaExceeded) << "3 devices are 2 more than allowed";
    const Answer started = start("park");
    ASSERT_TRUE(started.ok()) << started.text;
    const std::string hers = started.readString();
    EXPECT_EQ(devicesOf(hers), "0,1,2");
    service.restart(SIGKILL);
    EXPECT_EQ(preemptible(hers), "park");
    EXPECT_EQ(attach(*asAlice, hers, 4, "park").error, error::quotaExceeded) << "2 would count";
}

TEST_F(Lending, EndsOnlyWithinTheQuota) {
    const Answer started = start("end");
    ASSERT_TRUE(started.ok()) << started.text;
    const std::string hers = started.readString();
    EXPECT_EQ(set(*asAlice, hers, "no").error, error::quotaExceeded);
    EXPECT_EQ(attach(*asAlice, hers, 3, "no").error, error::quotaExceeded);
    EXPECT_EQ(preemptible(hers), "end") << "a refused request changes nothing";
    EXPECT_TRUE(set(*asAlice, hers, "park").ok());
    EXPECT_TRUE(asAlice->environment(hers, "Detach", "au", 2, 0U, 1U).ok());
    EXPECT_TRUE(set(*asAlice, hers, "no").ok());
}

TEST_F(Lending, BeginsWithTheDevicesThatARequestGets) {
    const std::string his = activate(*asBob, bobs);
    EXPECT_EQ(attach(*asBob, his, 5, "park").error.empty(), false);
    EXPECT_EQ(preemptible(his), "no") << "a request that fails changes nothing";
    EXPECT_TRUE(attach(*asBob, his, 3, "park").ok());
    EXPECT_EQ(preemptible(his), "park");
}

TEST_F(Lending, IsNotForEnvironmentsWithinOthers) {
    const Answer started = start("park");
    ASSERT_TRUE(started.ok()) << started.text;
    const std::string parent = started.readString();
    const UserProcess inner(alice);
    EXPECT_EQ(asAlice
                  ->manager("Activate", "a{sv}", 3, "pid", "u", inner.pid(), "within", "s",
                            parent.c_str(), "preemptible", "s", "park")
                  .error,
              error::invalidArgs);
    const std::string child = asAlice
                                  ->manager("Activate", "a{sv}", 2, "pid", "u", inner.pid(),
                                            "within", "s", parent.c_str())
                                  .readString();
    EXPECT_EQ(set(*asAlice, child, "end").error, error::invalidArgs);
    EXPECT_EQ(attach(*asAlice, child, 1, "end").error, error::invalidArgs);
}

} // namespace
} // namespace genv::tests
