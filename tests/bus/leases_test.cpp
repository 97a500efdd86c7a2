// SPDX-License-Identifier: LGPL-2.1-or-later
// Leases: expiry, warnings, the maximum lifetime, and leases across a restart of the service.
#include "tests/bus/support/fixture.hpp"
#include "tests/bus/support/queue.hpp"

#include <signal.h>

#include <chrono>
#include <fstream>

namespace genv::tests {
namespace {

constexpr std::uint64_t hour = 3600;

std::int64_t now() {
    return std::chrono::duration_cast<std::chrono::microseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

class Leases : public BusTest {
  protected:
    // One GPU: the simulated driver puts every program on every device.
    Leases() : BusTest({{"GENV_MOCK_DEVICE_COUNT", "1"}}) {}

    static Answer activateFor(Client& client, const UserProcess& process, std::uint64_t lifetime) {
        return client.manager("Activate", "a{sv}", 3, "pid", "u", process.pid(), "gpus", "u", 1U,
                              "lifetime", "t", lifetime);
    }
    static Answer extend(Client& client, const std::string& id, std::uint64_t lifetime) {
        return client.environment(id, "Configure", "a{sv}as", 1, "lifetime", "t", lifetime, 0);
    }
    std::int64_t expires(const std::string& id) {
        return std::stoll(asRoot->property(environmentPath(id), environmentInterface, "Expires"));
    }
    // Counts the PropertiesChanged signals of an environment that contain a property.
    static Slot onChange(Client& client, const std::string& id, const std::string& property,
                         int& changes) {
        return client.listen("type='signal',interface='org.freedesktop.DBus.Properties',path='" +
                                 environmentPath(id) + "'",
                             [property, &changes](sd_bus_message* message) {
                                 const char* name = nullptr;
                                 sd_bus_message_skip(message, "s");
                                 sd_bus_message_enter_container(message, 'a', "{sv}");
                                 while (sd_bus_message_enter_container(message, 'e', "sv") > 0) {
                                     sd_bus_message_read(message, "s", &name);
                                     changes += property == name ? 1 : 0;
                                     sd_bus_message_skip(message, "v");
                                     sd_bus_message_exit_container(message);
                                 }
                             });
    }
    // Expects that an environment ends this long after a call that was made after `before`.
    void expectLifetime(const std::string& id, std::uint64_t lifetime, std::int64_t before) {
        constexpr std::int64_t second = 1'000'000; // tolerance between the two clocks
        const std::int64_t lasts = static_cast<std::int64_t>(lifetime) * 1'000'000;
        EXPECT_GE(expires(id), before + lasts - second);
        EXPECT_LE(expires(id), now() + lasts + second);
    }
    void configure(const std::string& text) {
        std::ofstream(Service::configurationFolder() / "genvd.conf") << text;
        const Answer answer = asRoot->manager("Reload");
        EXPECT_TRUE(answer.ok()) << answer.text;
    }
};

TEST_F(Leases, AreAPropertyOfTheEnvironment) {
    const UserProcess without(alice);
    const UserProcess with(alice);
    EXPECT_EQ(expires(activate(*asAlice, without)), 0);
    const std::int64_t before = now();
    const std::string id = activateFor(*asAlice, with, hour).readString();
    expectLifetime(id, hour, before);
}

TEST_F(Leases, AreExtendedAndNeverCutShort) {
    const UserProcess shell(alice);
    const std::string id = activateFor(*asAlice, shell, hour).readString();
    int changes = 0;
    const Slot slot = onChange(*asAlice, id, "Expires", changes);
    const std::int64_t before = now();
    EXPECT_TRUE(extend(*asAlice, id, 2 * hour).ok());
    expectLifetime(id, 2 * hour, before);
    asAlice->processUntil([&] { return changes == 1; }, "the change");
    EXPECT_TRUE(extend(*asAlice, id, 1).ok());
    expectLifetime(id, 2 * hour, before);
    EXPECT_TRUE(asAlice->environment(id, "Configure", "a{sv}as", 0, 1, "lifetime").ok());
    EXPECT_EQ(expires(id), 0);
}

// The lease in a row is the earlier of the device's end and its environment's end.
TEST_F(Leases, ArePartOfWhatIsAttached) {
    const UserProcess shell(alice);
    const std::string id = activate(*asAlice, shell);
    const auto attached = [&] {
        const Answer answer = asRoot->call(environmentPath(id), "org.freedesktop.DBus.Properties",
                                           "Get", "ss", environmentInterface, "Attached");
        std::vector<std::pair<std::uint32_t, std::uint64_t>> rows;
        sd_bus_message* message = answer.message.get();
        sd_bus_message_enter_container(message, 'v', "a(ut)");
        sd_bus_message_enter_container(message, 'a', "(ut)");
        std::pair<std::uint32_t, std::uint64_t> row;
        while (sd_bus_message_read(message, "(ut)", &row.first, &row.second) > 0)
            rows.push_back(row);
        return rows;
    };
    EXPECT_TRUE(attached().empty());
    int changes = 0;
    const Slot slot = onChange(*asAlice, id, "Attached", changes);
    ASSERT_TRUE(asAlice->environment(id, "Attach", "a{sv}", 1, "count", "u", 1U).ok());
    asAlice->processUntil([&] { return changes == 1; }, "the attachment to be told");
    ASSERT_EQ(attached().size(), 1U);
    EXPECT_EQ(attached()[0], (std::pair<std::uint32_t, std::uint64_t>{0, 0}));
    ASSERT_TRUE(asAlice->environment(id, "Detach", "au", 0).ok());
    ASSERT_TRUE(
        asAlice->environment(id, "Attach", "a{sv}", 2, "count", "u", 1U, "lifetime", "t", hour)
            .ok());
    asAlice->processUntil([&] { return changes == 3; }, "both to be told");
    constexpr std::int64_t second = 1'000'000;
    EXPECT_NEAR(static_cast<double>(attached()[0].second), static_cast<double>(expires(id)),
                static_cast<double>(second));
    ASSERT_TRUE(extend(*asAlice, id, 2 * hour).ok());
    asAlice->processUntil([&] { return changes == 4; }, "the extension to be told");
    EXPECT_NEAR(static_cast<double>(attached()[0].second), static_cast<double>(expires(id)),
                static_cast<double>(second));
}

TEST_F(Leases, AreNeverGivenByAnExtension) {
    const UserProcess shell(alice);
    const std::string id = activate(*asAlice, shell, 1);
    for (Client* caller : {asAlice.get(), asRoot.get(), asBob.get()}) {
        const Answer refused = extend(*caller, id, 1);
        EXPECT_EQ(refused.error, error::invalidArgs);
        EXPECT_NE(refused.text.find("has no lease"), std::string::npos) << refused.text;
    }
    EXPECT_EQ(expires(id), 0);
    // Lifting a lease that does not exist changes nothing either.
    EXPECT_TRUE(asAlice->environment(id, "Configure", "a{sv}as", 0, 1, "lifetime").ok());
    EXPECT_EQ(expires(id), 0);
}

TEST_F(Leases, BeginWhenAWaitIsOver) {
    const UserProcess bobs(bob);
    const UserProcess shell(alice);
    const std::string his = activate(*asBob, bobs, 1);
    const auto call =
        asAlice->start(managerPath, managerInterface, "Activate", "a{sv}", 4, "pid", "u",
                       shell.pid(), "gpus", "u", 1U, "wait", "b", 1, "lifetime", "t", hour);
    const std::string id = std::to_string(shell.pid());
    waitUntil([&] { return waitingIn(*asRoot) == std::vector<std::string>{id}; }, "alice to wait");
    EXPECT_EQ(expires(id), 0);
    const std::int64_t before = now();
    EXPECT_TRUE(asBob->environment(his, "Detach", "au", 0).ok());
    EXPECT_EQ(asAlice->finish(*call).readString(), id);
    expectLifetime(id, hour, before);
}

TEST_F(Leases, EndTheEnvironmentAndItsProgramsAndTellTheOwner) {
    const UserProcess shell(alice);
    RecordedSignals signals(*asAlice);
    asAlice->ping();
    const std::string id = std::to_string(shell.pid());
    UserProcess program(
        {.uid = alice, .compute = true, .environment = {{"GENV_ENVIRONMENT_ID", id}}});
    EXPECT_EQ(activateFor(*asAlice, shell, 1).readString(), id);
    asAlice->processUntil(
        [&] { return signals.notice("ended") != nullptr && !signals.removed.empty(); }, "the end");
    EXPECT_EQ(signals.removed, std::vector<std::string>{id});
    EXPECT_EQ(signals.detached, std::vector<std::string>{id + " 0 expired"});
    EXPECT_EQ(signals.notice("ended")->uid, alice);
    EXPECT_EQ(signals.notice("ended")->environment, id);
    EXPECT_EQ(signals.notice("ended")->details.at("reason"), "expired");
    EXPECT_EQ(program.wait(), SIGTERM);
    EXPECT_EQ(environmentCount(), "0");
}

TEST_F(Leases, OfAnAttachmentEndItAlone) {
    const UserProcess shell(alice);
    RecordedSignals signals(*asAlice);
    asAlice->ping();
    const std::string id = activate(*asAlice, shell);
    UserProcess program(
        {.uid = alice, .compute = true, .environment = {{"GENV_ENVIRONMENT_ID", id}}});
    EXPECT_TRUE(asAlice
                    ->environment(id, "Attach", "a{sv}", 2, "index", "u", 0U, "lifetime", "t",
                                  std::uint64_t{1})
                    .ok());
    EXPECT_NE(expires(id), 0) << "when the first lease is over";
    asAlice->processUntil(
        [&] { return signals.notice("detached") != nullptr && !signals.detached.empty(); },
        "the end");
    EXPECT_EQ(signals.detached, std::vector<std::string>{id + " 0 expired"});
    EXPECT_EQ(signals.notice("detached")->details.at("reason"), "expired");
    EXPECT_EQ(program.wait(), SIGTERM);
    EXPECT_EQ(environmentCount(), "1") << "the environment itself stays";
    EXPECT_EQ(expires(id), 0);
}

TEST_F(Leases, WarnBeforeTheyEnd) {
    const UserProcess first(alice);
    const UserProcess second(alice);
    RecordedSignals signals(*asAlice);
    asAlice->ping();
    const std::string id = activateFor(*asAlice, first, 2).readString();
    asAlice->processUntil([&] { return signals.notice("expiring") != nullptr; }, "the warning");
    EXPECT_EQ(signals.removed, std::vector<std::string>{}) << "it is there still";
    const RecordedSignals::Notice warning = *signals.notice("expiring");
    EXPECT_EQ(warning.uid, alice);
    EXPECT_EQ(warning.environment, id);
    EXPECT_EQ(warning.details.at("left"), "1");
    EXPECT_FALSE(warning.details.contains("device")) << "all of it ends";
    asAlice->processUntil([&] { return !signals.removed.empty(); }, "the end");

    signals.notices.clear();
    const std::string other = activate(*asAlice, second);
    EXPECT_TRUE(asAlice
                    ->environment(other, "Attach", "a{sv}", 2, "index", "u", 0U, "lifetime", "t",
                                  std::uint64_t{2})
                    .ok());
    asAlice->processUntil([&] { return signals.notice("expiring") != nullptr; }, "the warning");
    EXPECT_EQ(signals.notice("expiring")->environment, other);
    EXPECT_EQ(signals.notice("expiring")->details.at("device"), "0");
}

TEST_F(Leases, AreAtMostWhatIsAllowed) {
    configure("[Limits]\nMaxLifetime=1h\n");
    const UserProcess shell(alice);
    const Answer refused = activateFor(*asAlice, shell, 2 * hour);
    EXPECT_EQ(refused.error, error::quotaExceeded);
    EXPECT_NE(refused.text.find("MaxLifetime"), std::string::npos) << refused.text;
    EXPECT_EQ(environmentCount(), "0");
    const std::string id = activate(*asAlice, shell);
    EXPECT_EQ(
        asAlice->environment(id, "Attach", "a{sv}", 2, "index", "u", 0U, "lifetime", "t", 2 * hour)
            .error,
        error::quotaExceeded);
    EXPECT_EQ(devicesOf(id), "");
}

TEST_F(Leases, AreWhatIsAllowedForThoseWhoNameNone) {
    configure("[Limits]\nMaxLifetime=1h\n");
    const UserProcess shell(alice);
    const std::int64_t before = now();
    const std::string id = activate(*asAlice, shell, 1);
    expectLifetime(id, hour, before);
}

TEST_F(Leases, CannotBeExtendedOrLiftedPastWhatIsAllowed) {
    configure("[Limits]\nMaxLifetime=1h\n");
    const UserProcess shell(alice);
    const std::int64_t before = now();
    const std::string id = activateFor(*asAlice, shell, hour / 2).readString();
    EXPECT_EQ(extend(*asAlice, id, 2 * hour).error, error::quotaExceeded);
    EXPECT_EQ(asAlice->environment(id, "Configure", "a{sv}as", 0, 1, "lifetime").error,
              error::quotaExceeded);
    expectLifetime(id, hour / 2, before);
    EXPECT_TRUE(extend(*asAlice, id, hour / 2 + 60).ok());
    expectLifetime(id, hour / 2 + 60, before);
}

TEST_F(Leases, RunOnOverARestart) {
    const UserProcess shell(alice);
    const std::string id = activateFor(*asAlice, shell, hour).readString();
    const std::int64_t before = expires(id);
    service.restart(SIGKILL);
    EXPECT_NEAR(static_cast<double>(expires(id)), static_cast<double>(before), 1e6);
}

TEST_F(Leases, ThatEndedWhileTheServiceWasAwayEndAtItsStartAndNothingIsKilled) {
    UserProcess shell(alice);
    const std::string id = activateFor(*asAlice, shell, 4).readString();
    UserProcess program(
        {.uid = alice, .compute = true, .environment = {{"GENV_ENVIRONMENT_ID", id}}});
    const std::int64_t end = expires(id);
    service.end(SIGKILL);
    waitUntil([&] { return now() > end + 10'000; }, "the lease to end");
    service.start();
    EXPECT_EQ(environmentCount(), "0");
    EXPECT_TRUE(holdersOf(*asRoot).empty());
    EXPECT_TRUE(asRoot->manager("Snapshot").ok()) << "a look at the GPUs";
    EXPECT_EQ(service.log().find("was told to end"), std::string::npos);
    EXPECT_FALSE(program.hasEnded());
    EXPECT_FALSE(shell.hasEnded());
}

TEST_F(Leases, StillEndWhatTheyMustAfterARestart) {
    const UserProcess shell(alice);
    const std::string id = activateFor(*asAlice, shell, 2).readString();
    service.restart(SIGKILL);
    waitUntil([&] { return environmentCount() == "0"; }, "the end");
    EXPECT_TRUE(holdersOf(*asRoot).empty());
}

} // namespace
} // namespace genv::tests
