// SPDX-License-Identifier: LGPL-2.1-or-later
// Devices that are kept for a waiting request are lent to requests whose leases end in time, and
// not for longer. The start of a waiting request is never delayed.
#include "core/environments/leases.hpp"
#include "core/limits/admission.hpp"
#include "core/sentences/sentences.hpp"
#include "tests/core/queue_fixture.hpp"

namespace genv::tests {
namespace {

using core::AttachRequest;
using core::CountWanted;
using core::ErrorCode;
using core::IndicesWanted;
using core::UuidsWanted;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

// Environments 10 (bob's), 20 (alice's), 30 and 40 (carol's).
class Backfilling : public Queueing {
  protected:
    using Indices = std::vector<core::DeviceIndex>;
    static constexpr core::Uid carol = 1003;
    static constexpr auto given = ErrorCode::Internal;
    static constexpr auto refused = ErrorCode::DeviceUnavailable;

    Backfilling() {
        events.subscribe([this](const core::Event& event) { leases.onEvent(event); });
        activate("10", bob);
        activate("20", alice);
        activate("30", carol);
        activate("40", carol);
    }
    static AttachRequest some(std::uint32_t count) { return {CountWanted{count}, {}, {}, false}; }
    static AttachRequest named(core::DeviceIndex index) {
        return {IndicesWanted{{index}}, {}, {}, false};
    }
    void hold(const std::string& id, const AttachRequest& request,
              std::optional<seconds> lifetime = {}) {
        ASSERT_EQ(attachNow(id, request, lifetime), given);
    }
    std::optional<core::Queue::Ticket> waitFor(const std::string& id, const AttachRequest& request,
                                               std::optional<seconds> lifetime = {}) {
        const auto ticket = ask(id, request, {}, {false, lifetime});
        scheduler.turn();
        return ticket;
    }
    ErrorCode extend(const std::string& id, std::optional<seconds> lifetime) {
        try {
            ledger.configure(id, {{}, {}, {}, lifetime}, ledger.get(id).uid);
            return given;
        } catch (const core::Error& error) {
            reasons[id] = error.what();
            return error.code();
        }
    }
    // Activates an environment with a lease.
    void activateFor(const std::string& id, core::Uid uid, seconds lifetime) {
        core::NewEnvironment wanted =
            newEnvironment(id, uid, static_cast<core::Pid>(std::stoul(id)));
        wanted.lifetime = lifetime;
        ledger.activate(std::move(wanted), std::nullopt, uid);
    }
    void expireAfter(std::chrono::microseconds time) {
        clock.pass(time);
        leases.check();
        scheduler.turn();
    }
    core::Leases leases{ledger, clock, scheduler, events};
};

TEST_F(Backfilling, LendsForKeepForWhereAHolderHasNoLease) {
    haveGpus(4);
    hold("10", some(1));
    waitFor("20", some(4));
    EXPECT_EQ(attachNow("30", some(1)), refused) << "for ever";
    EXPECT_EQ(attachNow("30", some(1), hours{1} + seconds{1}), refused) << "for too long";
    EXPECT_EQ(attachNow("30", some(1), hours{1}), given);
    clock.pass(hours{10});
    EXPECT_EQ(attachNow("40", some(2), hours{1}), given) << "as long as the other one stays";
}

TEST_F(Backfilling, LendsUntilTheLeasesOfTheHoldersEnd) {
    haveGpus(4);
    hold("10", some(1), hours{5});
    waitFor("20", some(4));
    EXPECT_EQ(attachNow("30", some(1), hours{5} + seconds{1}), refused);
    EXPECT_EQ(attachNow("30", some(1), hours{5}), given);
    clock.pass(hours{4});
    EXPECT_EQ(attachNow("40", some(1), hours{1} + seconds{1}), refused);
    EXPECT_EQ(attachNow("40", some(1), hours{1}), given);
}

TEST_F(Backfilling, GoesByAsManyLeasesAsTheWaitingRequestNeeds) {
    haveGpus(4);
    hold("10", named(0), hours{5});
    hold("10", named(1), hours{1});
    hold("10", named(2));
    waitFor("20", some(2)); // one is free, and another in an hour
    EXPECT_EQ(attachNow("30", some(1), hours{1} + seconds{1}), refused);
    EXPECT_EQ(attachNow("30", some(1), hours{1}), given);
}

TEST_F(Backfilling, CountsTheLeaseOfTheEnvironment) {
    haveGpus(2);
    hold("10", some(1));
    waitFor("20", some(2));
    activateFor("31", carol, minutes{30});
    EXPECT_EQ(attachNow("31", some(1)), given) << "it ends with its environment";
    EXPECT_EQ(attachNow("40", some(1), minutes{30}), refused) << "nothing is left";
}

TEST_F(Backfilling, ServesTheWaitingRequestOnceTheLeaseIsOver) {
    haveGpus(4);
    hold("10", some(1));
    waitFor("20", some(4));
    hold("30", some(2), minutes{40});
    clock.pass(minutes{10});
    detach("10");
    EXPECT_FALSE(answers.contains("20"));
    EXPECT_EQ(attachNow("40", some(1), minutes{31}), refused) << "its start is known by now";
    EXPECT_EQ(attachNow("40", some(1), minutes{30}), given);
    expireAfter(minutes{30});
    EXPECT_TRUE(isGranted("20"));
    EXPECT_EQ(devicesOf("20"), (Indices{0, 1, 2, 3}));
}

TEST_F(Backfilling, ServesALeasedRequestThatWaits) {
    haveGpus(4);
    hold("10", some(1));
    waitFor("20", some(4));
    waitFor("30", some(1), hours{2});
    EXPECT_FALSE(answers.contains("30"));
    EXPECT_EQ(waitFor("40", some(2), hours{1}), std::nullopt) << "given at once";
    EXPECT_EQ(devicesOf("40").size(), 2U);
    times.keepFor = hours{2};
    queue.settingsChanged();
    scheduler.turn();
    EXPECT_TRUE(isGranted("30"));
}

TEST_F(Backfilling, FollowsAHolderWhoExtendsItsLease) {
    haveGpus(2);
    hold("10", some(1), hours{2});
    waitFor("20", some(2));
    waitFor("30", some(1), hours{3});
    EXPECT_FALSE(answers.contains("30"));
    ASSERT_EQ(extend("10", hours{3}), given);
    scheduler.turn();
    EXPECT_TRUE(isGranted("30"));
}

// The first waits for three devices, one of which is held for ten hours. The second needs two for
// an hour: one is free, the other will be in half an hour.
TEST_F(Backfilling, DelaysNoLaterWaitingRequestEither) {
    haveGpus(3);
    hold("10", named(0), hours{10});
    hold("10", named(1), minutes{30});
    waitFor("20", some(3));
    waitFor("30", some(2), hours{1});
    EXPECT_EQ(attachNow("40", some(1), minutes{31}), refused);
    EXPECT_EQ(attachNow("40", some(1), minutes{30}), given);
    expireAfter(minutes{30});
    EXPECT_TRUE(isGranted("30"));
    EXPECT_FALSE(answers.contains("20"));
}

// The devices that it keeps are granted after the first request, so they may be lent until then.
TEST_F(Backfilling, LendsWhatTheSecondInLineKeepsUntilItsOwnTurn) {
    haveGpus(2);
    hold("10", named(0), hours{2});
    waitFor("20", named(0));
    waitFor("30", {IndicesWanted{{0, 1}}, {}, {}, false});
    EXPECT_EQ(attachNow("40", named(1), hours{3} + seconds{1}), refused);
    EXPECT_EQ(attachNow("40", named(1), hours{3}), given) << "alice has no lease, and is reckoned "
                                                             "to stay for an hour";
}

TEST_F(Backfilling, TakesWhatIsKeptForNobodyFirst) {
    core::Observation mixed = gpus(3);
    mixed.devices[2].facts.model = "NVIDIA GeForce RTX 2080 Ti";
    ledger.observed(mixed);
    hold("10", named(0));
    waitFor("20", {CountWanted{2}, "a100", {}, false});
    EXPECT_EQ(attachNow("30", some(1), minutes{10}), given);
    EXPECT_EQ(devicesOf("30"), Indices{2});
    EXPECT_EQ(extend("30", hours{10}), given) << "nobody waits for it";
    EXPECT_EQ(attachNow("40", some(1), minutes{10}), given);
    EXPECT_EQ(devicesOf("40"), Indices{1});
}

TEST_F(Backfilling, LendsSharesToo) {
    haveGpus(1);
    hold("10", {CountWanted{1}, {}, gigabytes(4), false}, hours{2});
    waitFor("20", some(1)); // the whole device
    const AttachRequest share{CountWanted{1}, {}, gigabytes(6), false};
    EXPECT_EQ(attachNow("30", share), refused);
    EXPECT_EQ(attachNow("30", share, hours{3}), refused);
    EXPECT_EQ(attachNow("30", share, hours{2}), given);
    EXPECT_EQ(extend("30", hours{3}), refused);
    expireAfter(hours{2});
    EXPECT_TRUE(isGranted("20"));
    expectNothingTwice(ledger);
}

TEST_F(Backfilling, KeepsTheRestOfTheDeviceThatIsFreeFirst) {
    haveGpus(2);
    hold("10", {IndicesWanted{{0}}, {}, gigabytes(2), false}, hours{5});
    hold("10", {IndicesWanted{{1}}, {}, gigabytes(14), false}, hours{1});
    waitFor("20", some(1));
    const AttachRequest share{IndicesWanted{{1}}, {}, gigabytes(2), false};
    EXPECT_EQ(attachNow("30", share), refused) << "or the start would move to that of the other";
    EXPECT_EQ(attachNow("30", {IndicesWanted{{0}}, {}, gigabytes(14), false}), given);
    expireAfter(hours{1});
    EXPECT_EQ(devicesOf("20"), Indices{1});
}

TEST_F(Backfilling, LendsMigInstances) {
    core::Observation mixed = gpus(1);
    mixed.devices.push_back(sampleOf(migFacts(1)));
    mixed.devices.push_back(sampleOf(migFacts(2)));
    ledger.observed(mixed);
    hold("10", {UuidsWanted{{"MIG-1"}}, {}, {}, false}, hours{2});
    waitFor("20", {CountWanted{2}, "mig", {}, false});
    EXPECT_EQ(attachNow("30", {UuidsWanted{{"MIG-2"}}, {}, {}, false}), refused);
    EXPECT_EQ(attachNow("30", {UuidsWanted{{"MIG-2"}}, {}, {}, false}, hours{2}), given);
    EXPECT_EQ(attachNow("40", some(1)), given) << "the GPU is kept for nobody";
}

TEST_F(Backfilling, LendsToThoseWhoShareALeftOver) {
    haveGpus(1);
    hold("10", {CountWanted{1}, {}, gigabytes(10), false}, hours{2});
    waitFor("20", some(1));
    const AttachRequest shared{CountWanted{1}, {}, {}, true};
    EXPECT_EQ(attachNow("30", shared), refused);
    EXPECT_EQ(attachNow("30", shared, hours{2}), given);
    EXPECT_EQ(extend("30", hours{3}), refused);
}

TEST_F(Backfilling, DoesNotExtendWhatIsLentWhileTheOtherWaits) {
    haveGpus(2);
    hold("10", some(1), hours{1});
    const auto ticket = waitFor("20", some(2));
    hold("30", some(1), hours{1});
    EXPECT_EQ(extend("30", hours{2}), refused);
    EXPECT_EQ(reasons["30"],
              "the lease of environment 30 cannot be extended: user1001 (environment 20) waits for "
              "GPU 1, which was kept for that request and is lent until it can start; detach GPU 1 "
              "to extend the rest, or wait in the queue for another one");
    EXPECT_EQ(extend("30", std::nullopt), refused) << "nor is it without an end";
    EXPECT_EQ(extend("30", minutes{1}), given) << "which makes it no longer";
    EXPECT_EQ(ledger.get("30").attachments[0].lease->until, clock.bootNow() + hours{1});
    EXPECT_EQ(extend("10", hours{9}), given) << "that was there before";
    queue.cancel(*ticket);
    EXPECT_EQ(extend("30", hours{2}), given);
}

TEST_F(Backfilling, DoesNotExtendAnEnvironmentWhoseLeaseItIs) {
    haveGpus(2);
    hold("10", some(1));
    waitFor("20", some(2));
    activateFor("31", carol, minutes{30});
    hold("31", some(1));
    EXPECT_EQ(extend("31", minutes{31}), refused);
    EXPECT_EQ(ledger.get("31").lease->until, clock.bootNow() + minutes{30});
    EXPECT_EQ(extend("31", std::nullopt), refused);
    ASSERT_TRUE(ledger.get("31").lease);
    ledger.detach("31", {}, carol);
    EXPECT_EQ(extend("31", minutes{31}), given);
}

// The environment's own lease begins when it has the devices for which it was started.
TEST_F(Backfilling, EndsInTimeAlsoWhereTheEnvironmentGetsALongerLease) {
    haveGpus(3);
    hold("10", named(0));
    hold("10", named(2));
    waitFor("20", {IndicesWanted{{1, 2}}, {}, {}, false});
    core::NewEnvironment wanted = newEnvironment("50", carol, 50);
    wanted.lifetime = hours{10};
    ledger.activate(std::move(wanted), queue.placeOrWait(named(0), nullptr, hours{10}), carol);
    await(queue, "50", ledger.get("50").waits.back().ticket);
    hold("50", named(1), minutes{30});
    const core::BootTime end = clock.bootNow() + minutes{30};
    ledger.detach("10", {0}, bob);
    scheduler.turn();
    ASSERT_EQ(devicesOf("50"), (Indices{0, 1}));
    const core::EnvironmentRecord& environment = ledger.get("50");
    EXPECT_EQ(environment.endOf(*environment.attachmentTo("GPU-1")), end);
    EXPECT_EQ(environment.endOf(*environment.attachmentTo("GPU-0")), clock.bootNow() + hours{10});
}

TEST_F(Backfilling, SaysForWhomDevicesAreKeptAndWhatWouldHelp) {
    haveGpus(4);
    hold("10", named(0), hours{1});
    waitFor("20", some(4));
    EXPECT_EQ(attachNow("30", some(1)), refused);
    const std::string since = core::nameTime(clock.wallNow());
    EXPECT_EQ(reasons["30"],
              "No available devices (3 kept for waiting requests); GPUs 1-3 are kept "
              "for user1001 (environment 20); with a lifetime of at most 1h this "
              "request could start now; user1002 holds GPU 0 (environment 10) "
              "since " +
                  since);
    ASSERT_EQ(extend("10", hours{5} + minutes{30} + seconds{59}), given);
    EXPECT_EQ(attachNow("30", named(2)), refused);
    EXPECT_EQ(reasons["30"], "Device 2 is not available: it is kept for a waiting request; "
                             "GPU 2 is kept for user1001 (environment 20); with a lifetime of at "
                             "most 5h 30min this request could start now");
    EXPECT_EQ(attachNow("30", named(0)), refused);
    EXPECT_EQ(reasons["30"].find("lifetime"), std::string::npos) << reasons["30"];
}

TEST_F(Backfilling, LooksAtTheLeaseAgainWhenAPasswordTookItsTime) {
    haveGpus(2);
    hold("10", some(1), hours{1});
    waitFor("20", some(2));
    const core::Placement placement = queue.place(some(1), &ledger.get("30"), hours{1});
    EXPECT_TRUE(queue.stillHolds(placement, &ledger.get("30")));
    clock.pass(seconds{1});
    EXPECT_FALSE(queue.stillHolds(placement, &ledger.get("30"))) << "it would end too late by now";
    const core::Placement shorter = queue.place(some(1), &ledger.get("30"), minutes{10});
    waitFor("40", some(2));
    EXPECT_FALSE(queue.stillHolds(shorter, &ledger.get("30")))
        << "somebody else waits for it by now";
}

// -- limits

TEST_F(Backfilling, CountsWhatIsKeptTowardsTheLimitsOfWhoeverWaits) {
    core::Observation mixed = gpus(6);
    mixed.devices[4].facts.model = mixed.devices[5].facts.model = "NVIDIA GeForce RTX 2080 Ti";
    ledger.observed(mixed);
    limits.maxDevices = 4;
    hold("10", named(0));
    const auto ticket = waitFor("20", {CountWanted{4}, "a100", {}, false}); // three are kept
    activate("50", alice);
    const auto violation = [&](const AttachRequest& request, std::optional<seconds> lifetime) {
        return core::admitAttachment(ledger, ledger.get("50"), limits,
                                     queue.place(request, &ledger.get("50"), lifetime),
                                     queue.keptFor(alice));
    };
    EXPECT_EQ(violation({IndicesWanted{{4}}, {}, {}, false}, {}), std::nullopt);
    EXPECT_EQ(violation({IndicesWanted{{4, 5}}, {}, {}, false}, {}),
              "you may have 4 devices, and this would make 5 (MaxDevicesPerUser)");
    EXPECT_EQ(violation({IndicesWanted{{1, 4}}, {}, {}, false}, minutes{5}), std::nullopt)
        << "what is kept for her counts once";
    EXPECT_EQ(queue.keptFor(bob).size(), 0U);
    EXPECT_EQ(queue.keptFor(alice).size(), 3U);
    EXPECT_EQ(queue.keptFor(alice, ticket).size(), 0U);
    detach("10");
    EXPECT_TRUE(isGranted("20")) << "and not again when it is given";
}

TEST_F(Backfilling, KeepsNoMoreThanTheLimitsAllow) {
    haveGpus(4);
    limits.maxDevices = 4;
    hold("10", named(0));
    waitFor("20", some(4));
    EXPECT_EQ(attachNow("30", some(2)), refused);
    limits.maxDevices = 1;
    queue.settingsChanged();
    EXPECT_EQ(attachNow("30", some(2)), given);
    EXPECT_EQ(attachNow("40", some(1)), refused) << "one is hers to wait for";
}

// -- the maximum wait

TEST_F(Backfilling, EndsAWaitWithoutALimitAfterMaxWait) {
    haveGpus(1);
    hold("10", some(1));
    waitFor("20", some(1));
    ask("30", some(1), hours{48});
    scheduler.pass(hours{23});
    EXPECT_TRUE(answers.empty());
    scheduler.pass(hours{1});
    for (const char* id : {"20", "30"}) {
        EXPECT_EQ(refusalOf(id), ErrorCode::Timeout);
        EXPECT_EQ(reasons[id],
                  "no device became free within 1d, the longest that a request may wait (MaxWait)");
    }
    EXPECT_TRUE(ledger.waits().empty());
}

TEST_F(Backfilling, ChangesTheLongestWaitOfThoseWhoWaitAlready) {
    haveGpus(1);
    hold("10", some(1));
    waitFor("20", some(1));
    ask("30", some(1), minutes{5});
    clock.pass(minutes{3});
    scheduler.pass(minutes{3});
    times.maxWait = minutes{4};
    queue.settingsChanged();
    scheduler.pass(minutes{1});
    EXPECT_EQ(refusalOf("20"), ErrorCode::Timeout);
    EXPECT_EQ(refusalOf("30"), ErrorCode::Timeout);
    waitFor("20", some(1));
    times.maxWait = hours{1};
    queue.settingsChanged();
    answers.clear();
    scheduler.pass(minutes{59});
    EXPECT_TRUE(answers.empty());
}

} // namespace
} // namespace genv::tests
