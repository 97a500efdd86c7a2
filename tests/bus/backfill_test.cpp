// SPDX-License-Identifier: LGPL-2.1-or-later
// Devices that are kept for a waiting request: who may use them meanwhile, and how long they are
// kept.
#include "tests/bus/support/fixture.hpp"
#include "tests/bus/support/queue.hpp"

#include <signal.h>

#include <fstream>
#include <regex>

namespace genv::tests {
namespace {

// Bob holds the first of four GPUs without a lease. Alice waits for all four.
class Backfill : public BusTest {
  protected:
    using Ids = std::vector<std::string>;
    using Devices = std::vector<std::uint32_t>;
    static constexpr const char* timeoutError = "org.freedesktop.DBus.Error.Timeout";
    static constexpr std::uint64_t minute = 60;
    static constexpr std::uint64_t hour = 60 * minute;

    Backfill()
        : BusTest({{"GENV_MOCK_DEVICE_COUNT", "4"}}), his(activate(*asBob, bobs, 1)),
          hers(activate(*asAlice, alices)), carolsId(activate(*asCarol, carols)),
          wait(asAlice->start(environmentPath(hers), environmentInterface, "Attach", "a{sv}", 2,
                              "count", "u", 4U, "wait", "b", 1)) {
        waitUntil([&] { return waitingIn(*asRoot) == Ids{hers}; }, "alice to wait");
    }

    Answer attach(std::uint32_t count) {
        return asCarol->environment(carolsId, "Attach", "a{sv}", 1, "count", "u", count);
    }
    Answer attach(std::uint32_t count, std::uint64_t lifetime) {
        return asCarol->environment(carolsId, "Attach", "a{sv}", 2, "count", "u", count, "lifetime",
                                    "t", lifetime);
    }
    Answer extend(std::uint64_t lifetime) {
        return asCarol->environment(carolsId, "Configure", "a{sv}as", 1, "lifetime", "t", lifetime,
                                    0);
    }
    void freeBobs() { EXPECT_TRUE(asBob->environment(his, "Detach", "au", 0).ok()); }
    void configure(const std::string& text) {
        std::ofstream(Service::configurationFolder() / "genvd.conf") << text;
        const Answer answer = asRoot->manager("Reload");
        EXPECT_TRUE(answer.ok()) << answer.text;
    }

    UserProcess alices{alice};
    UserProcess bobs{bob};
    UserProcess carols{carol};
    const std::string his;
    const std::string hers;
    const std::string carolsId;
    std::unique_ptr<PendingCall> wait;
};

TEST_F(Backfill, LetsARequestWithALeaseUseWhatIsKeptUntilTheWaitingUserCanStart) {
    const Answer refused = attach(1);
    EXPECT_EQ(refused.error, error::deviceUnavailable);
    EXPECT_NE(refused.text.find("GPUs 1-3 are kept for alice (environment " + hers + ")"),
              std::string::npos)
        << refused.text;
    EXPECT_NE(refused.text.find("a lifetime of at most 1h"), std::string::npos) << refused.text;
    EXPECT_EQ(attach(1, 2 * hour).error, error::deviceUnavailable) << "longer than that";
    const Answer given = attach(1, 2);
    ASSERT_TRUE(given.ok()) << given.text;
    EXPECT_EQ(given.readUnsignedList(), Devices{1});
    freeBobs();
    EXPECT_EQ(asAlice->finish(*wait).readUnsignedList(), (Devices{0, 1, 2, 3}))
        << "once carol's lease is over";
    EXPECT_EQ(devicesOf(carolsId), "");
}

TEST_F(Backfill, RefusesToExtendSuchALeaseWhileTheOtherWaitsAlsoAfterARestart) {
    const Answer given = attach(1, 30 * minute);
    ASSERT_TRUE(given.ok()) << given.text;
    const auto expectRefused = [&](const Answer& refused) {
        EXPECT_EQ(refused.error, error::deviceUnavailable);
        EXPECT_NE(refused.text.find("alice (environment " + hers + ") waits for GPU 1"),
                  std::string::npos)
            << refused.text;
    };
    expectRefused(extend(hour));
    expectRefused(asCarol->environment(carolsId, "Configure", "a{sv}as", 0, 1, "lifetime"));
    EXPECT_TRUE(extend(minute).ok()) << "which makes it no longer";
    service.restart(SIGKILL);
    EXPECT_EQ(waitingIn(*asRoot), Ids{hers});
    expectRefused(extend(hour));
    const auto again = asAlice->start(environmentPath(hers), environmentInterface, "Attach",
                                      "a{sv}", 2, "count", "u", 4U, "wait", "b", 1);
    EXPECT_TRUE(asAlice->environment(hers, "Deactivate").ok());
    EXPECT_EQ(waitingIn(*asRoot), Ids{});
    EXPECT_TRUE(extend(hour).ok()) << "nobody waits for it any more";
}

TEST_F(Backfill, CountsTheLeaseThatMaxLifetimeGives) {
    configure("[Limits]\nMaxLifetime=30min\n");
    const UserProcess shell(carol);
    const Answer given =
        asCarol->manager("Activate", "a{sv}", 2, "pid", "u", shell.pid(), "gpus", "u", 1U);
    ASSERT_TRUE(given.ok()) << given.text;
    EXPECT_EQ(devicesOf(std::to_string(shell.pid())), "1");
}

TEST_F(Backfill, IsBoundedByKeepForAndFollowsAReload) {
    configure("[Queue]\nKeepFor=10min\n");
    const Answer refused = attach(1, 11 * minute);
    EXPECT_EQ(refused.error, error::deviceUnavailable);
    EXPECT_NE(refused.text.find("a lifetime of at most 10min"), std::string::npos) << refused.text;
    EXPECT_TRUE(attach(1, 10 * minute).ok());
}

TEST_F(Backfill, ServesALeasedRequestThatWaitsOnceAReloadAllowsIt) {
    const auto carolsWait =
        asCarol->start(environmentPath(carolsId), environmentInterface, "Attach", "a{sv}", 3,
                       "count", "u", 1U, "wait", "b", 1, "lifetime", "t", 2 * hour);
    waitUntil([&] { return waitingIn(*asRoot) == (Ids{hers, carolsId}); }, "carol to wait");
    configure("[Queue]\nKeepFor=2h\n");
    EXPECT_EQ(asCarol->finish(*carolsWait).readUnsignedList(), Devices{1});
}

TEST_F(Backfill, EndsAWaitThatWasAskedForWithoutLimitAfterMaxWait) {
    configure("[Queue]\nMaxWait=1s\n");
    const Answer& ended = asAlice->finish(*wait);
    EXPECT_EQ(ended.error, timeoutError);
    EXPECT_EQ(ended.text,
              "no device became free within 1s, the longest that a request may wait (MaxWait)");
    EXPECT_EQ(waitingIn(*asRoot), Ids{});
    const auto longer =
        asAlice->start(environmentPath(hers), environmentInterface, "Attach", "a{sv}", 3, "count",
                       "u", 4U, "wait", "b", 1, "timeout", "t", hour);
    EXPECT_EQ(asAlice->finish(*longer).error, timeoutError) << "a longer timeout is capped";
    EXPECT_TRUE(attach(3).ok()) << "nothing is kept any more";
}

} // namespace
} // namespace genv::tests
