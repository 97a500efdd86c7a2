// SPDX-License-Identifier: LGPL-2.1-or-later
// Over-subscription of devices of other users: it needs the consent of each holder, or an
// administrator.
#include "tests/bus/support/fixture.hpp"
#include "tests/bus/support/queue.hpp"

#include <signal.h>

namespace genv::tests {
namespace {

class Consent : public BusTest {
  protected:
    Consent() : BusTest({{"GENV_MOCK_DEVICE_COUNT", "2"}}) {}

    static Answer share(Client& client, const std::string& id, std::uint32_t index) {
        return client.environment(id, "Attach", "a{sv}", 2, "index", "u", index, "over-subscribe",
                                  "b", 1);
    }
    static bool contains(const Answer& answer, const std::string& text) {
        return answer.text.find(text) != std::string::npos;
    }
    std::string isOverSubscribable(const std::string& id) {
        return asCarol->property(environmentPath(id), environmentInterface, "OverSubscribable");
    }

    const UserProcess alices{alice};
    const UserProcess bobs{bob};
    const UserProcess carols{carol};
};

TEST_F(Consent, IsNeededForADeviceThatAnotherHoldsWhole) {
    const std::string hers = activate(*asAlice, alices, 1);
    const std::string his = activate(*asBob, bobs);
    const Answer refused = share(*asBob, his, 0);
    EXPECT_EQ(refused.error, error::interactive);
    EXPECT_EQ(refused.text,
              "an administrator's password is needed to share GPU 0 of alice with environment " +
                  his +
                  " of bob (dev.genv.manager.over-subscribe-others); ask alice to run \"genvctl "
                  "config --allow-over-subscribe\", or ask an administrator");
    EXPECT_EQ(devicesOf(his), "");
    const Answer started = asBob->manager("Activate", "a{sv}", 4, "id", "s", "b2", "pid", "u",
                                          static_cast<std::uint32_t>(UserProcess(bob).pid()),
                                          "gpus", "u", 2U, "over-subscribe", "b", 1);
    EXPECT_EQ(started.error, error::interactive) << started.text;
    EXPECT_EQ(environmentCount(), "2") << "a failed attach leaves no environment";
    EXPECT_TRUE(share(*asRoot, his, 0).ok()) << "root is not asked";
    EXPECT_TRUE(asAlice->environment(hers, "Detach", "au", 0).ok());
    EXPECT_EQ(share(*asAlice, hers, 0).error, error::interactive) << "now it is bob's";
}

TEST_F(Consent, IsGivenAndWithdrawnByTheHolder) {
    const std::string hers = activate(*asAlice, alices, 1);
    const std::string his = activate(*asBob, bobs);
    const std::string carolsId = activate(*asCarol, carols);
    EXPECT_EQ(isOverSubscribable(hers), "0");
    EXPECT_EQ(
        asBob->environment(hers, "Configure", "a{sv}as", 1, "over-subscribable", "b", 1, 0).error,
        error::interactive)
        << "nobody consents for another";
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
    allowOverSubscribe(*asAlice, hers);
    asBob->processUntil([&] { return changed == "OverSubscribable"; }, "the signal");
    EXPECT_EQ(isOverSubscribable(hers), "1");
    EXPECT_TRUE(share(*asBob, his, 0).ok());
    EXPECT_EQ(share(*asCarol, carolsId, 0).error, error::interactive) << "bob did not consent";
    allowOverSubscribe(*asBob, his);
    EXPECT_TRUE(asAlice->environment(hers, "Configure", "a{sv}as", 0, 1, "over-subscribable").ok());
    EXPECT_EQ(devicesOf(his), "0") << "those who are there stay";
    const Answer refused = share(*asCarol, carolsId, 0);
    EXPECT_EQ(refused.error, error::interactive);
    EXPECT_TRUE(contains(refused, "ask alice to run")) << refused.text;
}

TEST_F(Consent, CanBeGivenAtTheStartAndOutlivesARestart) {
    const std::string hers = asAlice
                                 ->manager("Activate", "a{sv}", 3, "pid", "u", alices.pid(), "gpus",
                                           "u", 1U, "over-subscribable", "b", 1)
                                 .readString();
    EXPECT_EQ(isOverSubscribable(hers), "1");
    service.restart(SIGKILL);
    EXPECT_EQ(isOverSubscribable(hers), "1");
    const std::string his = activate(*asBob, bobs);
    EXPECT_TRUE(share(*asBob, his, 0).ok());
}

TEST_F(Consent, IsNotNeededForOnesOwnDevices) {
    const UserProcess others{alice};
    activate(*asAlice, alices, 1);
    const std::string second = activate(*asAlice, others);
    EXPECT_TRUE(share(*asAlice, second, 0).ok());
    const UserProcess first{bob};
    const UserProcess inner{bob};
    const std::string outer = activate(*asBob, bobs, 1);
    const auto within = [&](const UserProcess& process) {
        return asBob->manager("Activate", "a{sv}", 4, "pid", "u", process.pid(), "within", "s",
                              outer.c_str(), "gpus", "u", 1U, "over-subscribe", "b", 1);
    };
    EXPECT_TRUE(within(first).ok());
    EXPECT_TRUE(within(inner).ok()) << "nor among environments within one's own";
}

TEST_F(Consent, OfConsentingHoldersIsUsedBeforeAnAdministratorIsAsked) {
    const std::string hers = activate(*asAlice, alices, 1);
    const std::string his = activate(*asBob, bobs, 1);
    allowOverSubscribe(*asBob, his);
    const std::string carolsId = activate(*asCarol, carols);
    EXPECT_EQ(asCarol
                  ->environment(carolsId, "Attach", "a{sv}", 2, "count", "u", 1U, "over-subscribe",
                                "b", 1)
                  .readUnsignedList(),
              std::vector<std::uint32_t>{1});
    EXPECT_EQ(devicesOf(hers), "0");
}

TEST_F(Consent, OfAnAdministratorIsARuleThatSeesTheHolders) {
    const Rule rule("share",
                    "action.id == 'dev.genv.manager.over-subscribe-others' && "
                    "action.lookup('holders') == 'alice' && action.lookup('devices') == '0'");
    const std::string hers = activate(*asAlice, alices, 1);
    const std::string his = activate(*asBob, bobs);
    const UserProcess roots{root};
    activate(*asRoot, roots, 1);
    EXPECT_EQ(share(*asBob, his, 1).error, error::interactive) << "root is not alice";
    EXPECT_TRUE(share(*asBob, his, 0).ok());
    EXPECT_EQ(devicesOf(hers), "0");
}

TEST_F(Consent, ThatIsWithdrawnWhilePolkitIsAskedIsAskedForAnew) {
    const std::string hers = activate(*asAlice, alices, 1);
    allowOverSubscribe(*asAlice, hers);
    const std::string his = activate(*asBob, bobs);
    signalDaemon("polkitd", SIGSTOP);
    const auto call = asBob->start(environmentPath(his), environmentInterface, "Attach", "a{sv}", 2,
                                   "index", "u", 0U, "over-subscribe", "b", 1);
    asBob->ping();
    EXPECT_TRUE(
        asRoot->environment(hers, "Configure", "a{sv}as", 1, "over-subscribable", "b", 0, 0).ok());
    signalDaemon("polkitd", SIGCONT);
    EXPECT_EQ(asBob->finish(*call).error, error::interactive) << call->answer.text;
    EXPECT_EQ(devicesOf(his), "");
}

TEST_F(Consent, IsAwaitedByThoseWhoWait) {
    const std::string hers = activate(*asAlice, alices, 2);
    const std::string his = activate(*asBob, bobs);
    const auto wait = [&](Client& client, const std::string& id) {
        return client.start(environmentPath(id), environmentInterface, "Attach", "a{sv}", 3,
                            "index", "u", 0U, "over-subscribe", "b", 1, "wait", "b", 1);
    };
    const auto waiting = wait(*asBob, his);
    waitUntil([&] { return queueOf(*asRoot).size() == 1; }, "the wait");
    EXPECT_EQ(devicesOf(his), "");
    allowOverSubscribe(*asAlice, hers);
    EXPECT_TRUE(asBob->finish(*waiting).ok()) << waiting->answer.text;
    EXPECT_EQ(devicesOf(his), "0");
}

} // namespace
} // namespace genv::tests
