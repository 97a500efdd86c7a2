// SPDX-License-Identifier: LGPL-2.1-or-later
// Who waits for devices gets them in the order of asking, whatever happens in between; nobody who
// asks later is served with what an earlier one could use, and nobody is forgotten.
#include "core/caps.hpp"
#include "core/queue.hpp"
#include "core/recovery.hpp"
#include "tests/core/ledger_fixture.hpp"

#include <map>
#include <random>

namespace genv::tests {
namespace {

using core::AttachRequest;
using core::CountWanted;
using core::ErrorCode;
using core::IndicesWanted;
using core::UuidWanted;
using Indices = std::vector<core::DeviceIndex>;

class Queueing : public LedgerTest {
  protected:
    Queueing() {
        events.subscribe([this](const core::Event& event) { queue.onEvent(event); });
    }

    // Asks as a client does: what is free now is given at once.
    std::optional<core::Queue::Ticket> ask(const std::string& id, const AttachRequest& request,
                                           std::optional<std::chrono::milliseconds> timeout = {},
                                           const core::Terms& terms = {}) {
        const core::Environment& environment = ledger.get(id);
        const core::Placement placement = queue.place(request, &environment, true);
        ledger.attach(id, placement, environment.uid, terms);
        if (!placement.waitsFor)
            return std::nullopt;
        const auto ticket = ledger.get(id).waits.back().ticket;
        await(queue, id, ticket, timeout);
        return ticket;
    }
    std::optional<core::Queue::Ticket> askCount(const std::string& id, std::uint32_t count) {
        return ask(id, {CountWanted{count}, {}, {}, false});
    }
    void await(core::Queue& line, const std::string& id, core::Queue::Ticket ticket,
               std::optional<std::chrono::milliseconds> timeout = {}) {
        line.await(ticket, {ledger.get(id).uid, "user", {}}, timeout,
                   [this, id](const std::optional<core::Error>& refusal) {
                       answers[id].push_back(refusal ? std::optional(refusal->code())
                                                     : std::nullopt);
                       if (refusal)
                           reasons[id] = refusal->what();
                   });
    }

    // Attaches without waiting, as somebody does who asks the queue.
    ErrorCode attachNow(const std::string& id, const AttachRequest& request) {
        try {
            const core::Placement placement = queue.place(request, &ledger.get(id));
            ledger.attach(id, placement, ledger.get(id).uid);
        } catch (const core::Error& error) {
            reasons[id] = error.what();
            return error.code();
        }
        return ErrorCode::Internal; // none
    }

    [[nodiscard]] bool isGranted(const std::string& id) const {
        const auto found = answers.find(id);
        return found != answers.end() && found->second == Answers{std::nullopt};
    }
    [[nodiscard]] std::optional<ErrorCode> refusalOf(const std::string& id) const {
        const auto found = answers.find(id);
        return found == answers.end() || found->second.size() != 1 ? std::nullopt
                                                                   : found->second.front();
    }
    [[nodiscard]] std::vector<std::string> waiting() const {
        std::vector<std::string> ids;
        for (const auto& [ticket, id] : ledger.waits())
            ids.push_back(id);
        return ids;
    }
    void detach(const std::string& id) {
        ledger.detach(id, {}, ledger.get(id).uid);
        scheduler.turn();
    }

    using Answers = std::vector<std::optional<ErrorCode>>;
    std::map<std::string, Answers> answers;
    std::map<std::string, std::string> reasons;
    FakeScheduler scheduler;
    SilentLog log;
    core::Limits limits;
    core::Queue queue{ledger, clock, scheduler,
                      events, log,   [this](const core::UserInfo&) { return limits; }};
};

constexpr auto nothing = ErrorCode::Internal;

TEST_F(Queueing, GivesWhatIsFreeAtOnce) {
    haveGpus(1);
    activate("10", alice);
    EXPECT_EQ(askCount("10", 1), std::nullopt);
    EXPECT_EQ(devicesOf("10"), Indices{0});
}

TEST_F(Queueing, ServesInTheOrderOfAsking) {
    haveGpus(1);
    for (const char* id : {"10", "20", "30"})
        activate(id, alice);
    attachCount("10", 1);
    askCount("20", 1);
    clock.pass(std::chrono::minutes{5});
    askCount("30", 1);
    scheduler.turn();
    EXPECT_EQ(waiting(), (std::vector<std::string>{"20", "30"}));
    EXPECT_TRUE(answers.empty());
    detach("10");
    EXPECT_TRUE(isGranted("20"));
    EXPECT_EQ(devicesOf("20"), Indices{0});
    EXPECT_EQ(waiting(), std::vector<std::string>{"30"});
    detach("20");
    EXPECT_TRUE(isGranted("30"));
    const auto granted = toldOf<core::WaitGranted>();
    ASSERT_EQ(granted.size(), 2U);
    EXPECT_EQ(granted[0].environment, "20");
    EXPECT_EQ(granted[0].waited, std::chrono::minutes{5});
    ASSERT_EQ(granted[0].devices.size(), 1U);
    expectSound();
}

TEST_F(Queueing, TellsWhenAWaitBeginsAndHowItEnded) {
    haveGpus(1);
    for (const char* id : {"10", "20", "30", "40", "50"})
        activate(id, alice);
    attachCount("10", 1);
    ask("20", {CountWanted{1}, {}, {}, false}, std::chrono::seconds{60});
    const auto cancelled = askCount("30", 1);
    askCount("40", 1);
    askCount("50", 1);
    scheduler.turn();
    const auto started = toldOf<core::WaitStarted>();
    ASSERT_EQ(started.size(), 4U);
    EXPECT_EQ(started[0].environment, "20");
    EXPECT_EQ(started[0].count, 1U);
    EXPECT_EQ(started[0].actor, alice);
    EXPECT_EQ(started[0].since, clock.wallNow());

    clock.pass(std::chrono::minutes{1});
    scheduler.pass(std::chrono::minutes{1});
    queue.cancel(*cancelled);
    ledger.end("40", {core::Reason::admin(), bob});
    limits.maxDevices = 0;
    detach("10");
    const auto ended = toldOf<core::WaitEnded>();
    std::map<std::string, std::string> ends;
    for (const core::WaitEnded& event : ended)
        ends[event.environment] = event.cause.reason.text();
    EXPECT_EQ(ends,
              (std::map<std::string, std::string>{
                  {"20", "timeout"}, {"30", "cancelled"}, {"40", "admin"}, {"50", "refused"}}));
    EXPECT_EQ(ended.size(), 4U);
    EXPECT_EQ(ended[0].waited, std::chrono::minutes{1});
    EXPECT_EQ(ended[0].count, 1U);
    EXPECT_TRUE(toldOf<core::WaitGranted>().empty());
}

TEST_F(Queueing, TellsTheEndOfAWaitBeforeThatOfItsEnvironment) {
    haveGpus(1);
    activate("10", alice);
    attachCount("10", 1);
    const core::Placement placement = queue.place({CountWanted{1}, {}, {}, false}, nullptr, true);
    ledger.activate(newEnvironment("20", bob, 20), placement, bob);
    const auto ticket = ledger.get("20").waits.back().ticket;
    await(queue, "20", ticket);
    scheduler.turn();
    told.clear();
    queue.cancel(ticket);
    const auto ended = toldOf<core::WaitEnded>();
    ASSERT_EQ(ended.size(), 1U);
    EXPECT_EQ(ended[0].cause.reason, core::Reason::cancelled());
    EXPECT_TRUE(std::holds_alternative<core::WaitEnded>(told.front()));
    EXPECT_TRUE(std::holds_alternative<core::EnvironmentRemoved>(told.back()));
}

TEST_F(Queueing, KeepsWhatIsFreeForTheEarliestThatCanUseIt) {
    haveGpus(4);
    for (const char* id : {"10", "20", "30", "40"})
        activate(id, alice);
    attachIndices("10", {0, 1});
    askCount("20", 3); // two are free, which is not enough
    scheduler.turn();
    EXPECT_EQ(attachNow("30", {CountWanted{1}, {}, {}, false}), ErrorCode::DeviceUnavailable);
    EXPECT_EQ(attachNow("30", {IndicesWanted{{2}}, {}, {}, false}), ErrorCode::DeviceUnavailable);
    EXPECT_EQ(reasons["30"].find("Device 2 is not available: it is kept for somebody who waits"),
              0U)
        << reasons["30"];
    EXPECT_EQ(attachNow("30", {UuidWanted{"GPU-3"}, {}, {}, true}), ErrorCode::DeviceUnavailable)
        << "nor for those who share";
    askCount("40", 1);
    scheduler.turn();
    EXPECT_FALSE(answers.contains("40")) << "a later waiter is served with nothing of it";
    detach("10");
    EXPECT_TRUE(isGranted("20"));
    EXPECT_TRUE(isGranted("40"));
    EXPECT_EQ(devicesOf("20").size() + devicesOf("40").size(), 4U);
}

TEST_F(Queueing, LetsALaterOneHaveWhatTheEarlierCannotUse) {
    core::Observation mixed = gpus(2);
    mixed.devices[1].facts.model = "NVIDIA GeForce RTX 2080 Ti";
    ledger.observed(mixed);
    for (const char* id : {"10", "20", "30"})
        activate(id, alice);
    attachIndices("10", {0});
    ask("20", {CountWanted{1}, "a100", {}, false});
    EXPECT_EQ(attachNow("30", {CountWanted{1}, {}, {}, false}), nothing);
    EXPECT_EQ(devicesOf("30"), Indices{1});
}

TEST_F(Queueing, KeepsSharesFreeToo) {
    haveGpus(1);
    for (const char* id : {"10", "20", "30"})
        activate(id, alice);
    attachCount("10", 1, gigabytes(10)); // 6 of 16 are free
    ask("20", {CountWanted{1}, {}, gigabytes(8), false});
    EXPECT_EQ(attachNow("30", {CountWanted{1}, {}, gigabytes(1), false}),
              ErrorCode::DeviceUnavailable);
    detach("10");
    EXPECT_TRUE(isGranted("20"));
    EXPECT_EQ(attachNow("30", {CountWanted{1}, {}, gigabytes(8), false}), nothing);
    expectSound();
}

TEST_F(Queueing, KeepsWhatIsLeftOfASharedDevice) {
    haveGpus(1);
    for (const char* id : {"10", "20", "30"})
        activate(id, alice);
    attachCount("10", 1, gigabytes(4));
    askCount("20", 1); // all of it; or small shares could come and go for ever
    EXPECT_EQ(attachNow("30", {CountWanted{1}, {}, gigabytes(1), false}),
              ErrorCode::DeviceUnavailable);
    detach("10");
    EXPECT_TRUE(isGranted("20"));
}

TEST_F(Queueing, LeavesSharingAHeldDeviceToThoseWhoAskForIt) {
    haveGpus(1);
    for (const char* id : {"10", "20", "30"})
        activate(id, alice);
    attachCount("10", 1);
    askCount("20", 1);
    EXPECT_EQ(attachNow("30", {CountWanted{1}, {}, {}, true}), nothing);
    EXPECT_EQ(devicesOf("30"), Indices{0});
}

TEST_F(Queueing, NamesThoseWhoHoldWhatIsWanted) {
    haveGpus(1);
    activate("10", alice);
    activate("20", bob);
    attachCount("10", 1);
    EXPECT_EQ(attachNow("20", {CountWanted{1}, {}, {}, false}), ErrorCode::DeviceUnavailable);
    EXPECT_EQ(reasons["20"],
              "No available devices; GPU 0 is held by user1001 (environment 10) since " +
                  core::formatLocalTime(clock.wallNow()));
}

TEST_F(Queueing, RefusesMoreThanTheMachineHasAtOnce) {
    haveGpus(2);
    activate("10", alice);
    EXPECT_THROW(askCount("10", 3), core::Error);
    EXPECT_TRUE(ledger.waits().empty());
}

TEST_F(Queueing, RefusesThoseWhoWaitForWhatIsGone) {
    haveGpus(2);
    activate("10", alice);
    activate("20", alice);
    attachIndices("10", {0});
    askCount("20", 2);
    scheduler.turn();
    haveGpus(1);
    scheduler.turn();
    EXPECT_EQ(refusalOf("20"), ErrorCode::NotEnoughDevices);
    EXPECT_TRUE(ledger.waits().empty());
}

TEST_F(Queueing, EndsAWaitThatLastsTooLong) {
    haveGpus(1);
    activate("10", alice);
    activate("20", bob);
    attachCount("10", 1);
    ask("20", {CountWanted{1}, {}, {}, false}, std::chrono::minutes{10});
    scheduler.pass(std::chrono::minutes{9});
    EXPECT_TRUE(answers.empty());
    scheduler.pass(std::chrono::minutes{1});
    EXPECT_EQ(refusalOf("20"), ErrorCode::Timeout);
    EXPECT_EQ(reasons["20"], "no device became free within 10min");
    EXPECT_TRUE(ledger.waits().empty());
    EXPECT_NE(ledger.find("20"), nullptr) << "the environment was there before";
}

TEST_F(Queueing, ForgetsWhoCancels) {
    haveGpus(1);
    for (const char* id : {"10", "20", "30"})
        activate(id, alice);
    attachCount("10", 1);
    const auto ticket = askCount("20", 1);
    askCount("30", 1);
    queue.cancel(*ticket);
    detach("10");
    EXPECT_FALSE(answers.contains("20"));
    EXPECT_TRUE(isGranted("30"));
}

TEST_F(Queueing, TellsThoseWhoseEnvironmentEnds) {
    haveGpus(1);
    activate("10", alice);
    activate("20", alice);
    attachCount("10", 1);
    askCount("20", 1);
    processes.exit(20);
    scheduler.turn();
    EXPECT_EQ(refusalOf("20"), ErrorCode::NoSuchEnvironment);
    EXPECT_TRUE(ledger.waits().empty());
}

TEST_F(Queueing, ChecksTheLimitsAgainWhenItServes) {
    haveGpus(2);
    for (const char* id : {"10", "20", "30"})
        activate(id, id == std::string("10") ? bob : alice);
    attachIndices("10", {0});
    attachIndices("20", {1});
    ask("30", {IndicesWanted{{0}}, {}, {}, false});
    limits.maxDevices = 1;
    detach("10");
    EXPECT_EQ(refusalOf("30"), ErrorCode::QuotaExceeded);
    EXPECT_EQ(devicesOf("30"), Indices{});
}

TEST_F(Queueing, SparesWhatWasAllowedOverALimit) {
    haveGpus(1);
    activate("10", bob);
    activate("20", alice);
    attachCount("10", 1);
    ask("20", {CountWanted{1}, {}, {}, false}, {}, {true, std::nullopt});
    limits.maxDevices = 0;
    detach("10");
    EXPECT_TRUE(isGranted("20"));
    EXPECT_TRUE(ledger.get("20").attachments.at(0).exempt);
}

TEST_F(Queueing, CountsWhatAUserWaitsFor) {
    haveGpus(1);
    activate("10", bob);
    attachCount("10", 1);
    activate("20", alice);
    for (std::size_t i = 0; i < core::caps::waitsPerUser; ++i) {
        EXPECT_NO_THROW(queue.requireRoom(alice, alice));
        askCount("20", 1);
    }
    EXPECT_THROW(queue.requireRoom(alice, alice), core::Error);
    EXPECT_NO_THROW(queue.requireRoom(bob, bob)) << "others are served";
    EXPECT_NO_THROW(queue.requireRoom(alice, 0)) << "root is exempt";
}

TEST_F(Queueing, BeginsALeaseWhenItServes) {
    haveGpus(1);
    activate("10", bob);
    activate("20", alice);
    attachCount("10", 1);
    ask("20", {CountWanted{1}, {}, {}, false}, {}, {false, std::chrono::hours{1}});
    clock.pass(std::chrono::hours{3});
    detach("10");
    const auto lease = ledger.get("20").attachments.at(0).lease;
    ASSERT_TRUE(lease);
    EXPECT_EQ(lease->until, clock.bootNow() + std::chrono::hours{1});
}

TEST_F(Queueing, KeepsServingWhenAGrantCannotBeWritten) {
    haveGpus(1);
    for (const char* id : {"10", "20", "30"})
        activate(id, alice);
    attachCount("10", 1);
    askCount("20", 1);
    askCount("30", 1);
    scheduler.turn();
    ledger.detach("10", {}, alice);
    store.writesUntilFailure = 0; // the disk is full
    scheduler.turn();
    EXPECT_TRUE(answers.empty());
    EXPECT_EQ(waiting(), (std::vector<std::string>{"20", "30"})) << "nobody is passed meanwhile";
    store.writesUntilFailure = -1;
    scheduler.pass(std::chrono::seconds{1});
    scheduler.turn();
    EXPECT_TRUE(isGranted("20"));
    EXPECT_FALSE(answers.contains("30"));
}

// An environment that is started by a request that waits.
class StartedByWaiting : public Queueing {
  protected:
    core::Queue::Ticket start(const std::string& id, std::optional<std::chrono::seconds> lifetime) {
        core::NewEnvironment wanted =
            newEnvironment(id, alice, static_cast<core::Pid>(std::stoul(id)));
        wanted.lifetime = lifetime;
        const auto placement = queue.place({CountWanted{1}, {}, {}, false}, nullptr, true);
        EXPECT_TRUE(placement.waitsFor);
        ledger.activate(std::move(wanted), placement, alice);
        const auto ticket = ledger.get(id).waits.back().ticket;
        await(queue, id, ticket);
        scheduler.turn();
        return ticket;
    }
    void SetUp() override {
        haveGpus(1);
        activate("10", bob);
        attachCount("10", 1);
    }
};

TEST_F(StartedByWaiting, EndsWithItsWait) {
    queue.cancel(start("20", {}));
    EXPECT_EQ(ledger.find("20"), nullptr);
}

TEST_F(StartedByWaiting, StaysWhenSomebodyJoined) {
    const auto ticket = start("20", {});
    processes.add(21, alice);
    ledger.addProcess("20", core::adopt(processes.pin(21), alice, alice), alice);
    queue.cancel(ticket);
    EXPECT_NE(ledger.find("20"), nullptr);
    EXPECT_TRUE(ledger.waits().empty());
}

TEST_F(StartedByWaiting, LivesFromWhenItHasWhatItWaitedFor) {
    start("20", std::chrono::hours{1});
    EXPECT_FALSE(ledger.get("20").lease);
    clock.pass(std::chrono::hours{5});
    detach("10");
    ASSERT_TRUE(isGranted("20"));
    EXPECT_EQ(ledger.get("20").began, clock.bootNow());
    ASSERT_TRUE(ledger.get("20").lease);
    EXPECT_EQ(ledger.get("20").lease->until, clock.bootNow() + std::chrono::hours{1});
}

// A service that starts again finds those who waited.
class FoundAgain : public Queueing {
  protected:
    struct Again {
        core::EventHub events;
        core::Ledger ledger;
        FakeScheduler scheduler;
        core::Queue queue;
        Again(FoundAgain& test)
            : ledger(test.store, test.clock, events),
              queue(ledger, test.clock, scheduler, events, test.log,
                    [](const core::UserInfo&) { return core::Limits{}; }) {
            events.subscribe([this](const core::Event& event) { queue.onEvent(event); });
            core::recover(ledger, test.store, test.processes, test.clock.bootNow());
            queue.expectClients();
            ledger.observed(gpus(1));
            scheduler.turn();
        }
        void await(FoundAgain& test, const std::string& id, core::Queue::Ticket ticket) {
            test.await(queue, id, ticket);
            scheduler.turn();
        }
    };
    void SetUp() override {
        haveGpus(1);
        for (const char* id : {"10", "20", "30"})
            activate(id, alice);
        attachCount("10", 1);
        askCount("20", 1);
        askCount("30", 1);
    }
    const AttachRequest one{CountWanted{1}, {}, {}, false};
};

TEST_F(FoundAgain, KeepTheirPlacesUntilTheyCallAgain) {
    Again again(*this);
    const auto later = again.queue.abandoned("30", one);
    ASSERT_TRUE(later);
    again.await(*this, "30", *later); // the later one is back first
    again.ledger.detach("10", {}, alice);
    again.scheduler.turn();
    EXPECT_TRUE(answers.empty()) << "the device is kept for the earlier one";
    const auto earlier = again.queue.abandoned("20", one);
    ASSERT_TRUE(earlier);
    again.await(*this, "20", *earlier);
    EXPECT_TRUE(isGranted("20"));
    EXPECT_FALSE(answers.contains("30"));
    EXPECT_EQ(again.queue.abandoned("20", one), std::nullopt);
}

TEST_F(FoundAgain, LeaveWhenTheirClientsDoNotComeBack) {
    Again again(*this);
    again.await(*this, "30", *again.queue.abandoned("30", one));
    again.ledger.detach("10", {}, alice);
    again.scheduler.pass(core::patienceWithClients);
    again.scheduler.turn();
    EXPECT_TRUE(isGranted("30"));
    EXPECT_TRUE(again.ledger.waits().empty());
    EXPECT_NE(again.ledger.find("20"), nullptr);
}

TEST_F(FoundAgain, TakeTheirPlacesWithTheSameRequestOnly) {
    Again again(*this);
    EXPECT_FALSE(again.queue.abandoned("20", {CountWanted{2}, {}, {}, false}));
    EXPECT_FALSE(again.queue.abandoned("10", one));
    EXPECT_FALSE(again.queue.isAbandoned("20")) << "it was not started by its request";
}

// Twenty waiters for four devices: killed, cancelled, granted and gone at random. After each turn
// no earlier waiter could be served with what is free, and nobody was passed.
class RandomWaiters : public Queueing, public ::testing::WithParamInterface<unsigned> {
  protected:
    static constexpr std::uint32_t devices = 4;
    static constexpr unsigned waiters = 20;

    RandomWaiters() {
        events.subscribe([this](const core::Event& event) {
            if (const auto* attached = std::get_if<core::Attached>(&event))
                expectNobodyWasPassed(*attached);
        });
    }

    // Judged by the numbers alone: whoever still waits and asked earlier cannot have been able to
    // use what was given, unless it still can.
    void expectNobodyWasPassed(const core::Attached& attached) {
        const auto known = asked.find(attached.environment);
        const bool waited = known != asked.end() && known->second;
        const core::Device& device = *ledger.devices().findUuid(attached.attachment.device.uuid);
        const auto fits = [](const std::optional<core::Bytes>& share, std::size_t claims,
                             core::Bytes left) { return share ? *share <= left : claims == 0; };
        const core::Bytes after = device.availableMemory();
        const core::Bytes before =
            after + attached.attachment.share.value_or(device.facts.totalMemory);
        for (const auto& [ticket, id] : ledger.waits()) {
            if (waited && ticket > *known->second)
                break;
            const core::Wait& wait = ledger.wait(ticket);
            const auto* named = std::get_if<IndicesWanted>(&wait.request.wanted);
            const bool wants = named == nullptr || named->indices.front() == device.facts.index;
            if (!wants || ledger.get(id).attachmentTo(device.facts.uuid) != nullptr)
                continue;
            EXPECT_FALSE(fits(wait.request.share, device.claims.size() - 1, before) &&
                         !fits(wait.request.share, device.claims.size(), after))
                << "environment " << id << " was passed by " << attached.environment;
        }
    }

    unsigned below(unsigned limit) {
        return std::uniform_int_distribution<unsigned>(0, limit - 1)(random);
    }

    AttachRequest anyRequest() {
        const bool shares = below(4) == 0;
        const std::optional<core::Bytes> share =
            shares ? std::optional(gigabytes(1 + below(16))) : std::nullopt;
        if (below(4) == 0)
            return {IndicesWanted{{below(devices)}}, {}, share, false};
        return {CountWanted{1 + below(devices)}, {}, share, false};
    }

    void begin(const std::string& id) {
        activate(id, alice + below(3));
        const auto request = anyRequest();
        asked[id] = ask(id, request);
        if (!asked[id])
            holders.insert(id);
    }

    // Takes the first waiter that could be served by what nobody before it could use, by hand.
    void expectNobodyIsServable() {
        core::Reservations kept;
        for (const auto& [ticket, id] : ledger.waits()) {
            const core::Wait& wait = ledger.wait(ticket);
            EXPECT_THROW(core::place(wait.request, ledger.devices(), &ledger.get(id), kept),
                         core::Error)
                << id << " waits for what is free";
            core::reserveFor(wait.request, ledger.devices(), &ledger.get(id), kept);
        }
    }

    std::mt19937 random{GetParam()};
    std::map<std::string, std::optional<core::Queue::Ticket>> asked;
    std::set<std::string> holders;
};

TEST_P(RandomWaiters, AreServedInOrderAndNoneIsLost) {
    haveGpus(devices);
    unsigned next = 100;
    for (unsigned i = 0; i < waiters; ++i)
        begin(std::to_string(next++));
    scheduler.turn();
    for (int step = 0; step < 200; ++step) {
        std::vector<std::string> ids;
        for (const auto& [sequence, environment] : ledger.environments())
            ids.push_back(environment.id);
        const std::string id = ids[below(static_cast<unsigned>(ids.size()))];
        const auto waitsBefore = ledger.waits();
        switch (below(3)) {
        case 0: // killed
            processes.exit(static_cast<core::Pid>(std::stoul(id)));
            break;
        case 1: // interrupted, if it waits
            if (asked[id] && ledger.waits().contains(*asked[id]))
                queue.cancel(*asked[id]);
            break;
        default: // done with what it has
            ledger.detach(id, {}, ledger.get(id).uid);
        }
        scheduler.turn();
        expectSound();
        expectNobodyIsServable();
        while (ledger.environments().size() < waiters)
            begin(std::to_string(next++));
        scheduler.turn();
    }
    // In the end everybody gets something: nobody is stuck.
    for (int i = 0; i < 1000 && !ledger.waits().empty(); ++i) {
        for (const auto& environment : std::map(ledger.environments())) {
            if (!environment.second.attachments.empty())
                ledger.detach(environment.second.id, {}, environment.second.uid);
        }
        scheduler.turn();
    }
    EXPECT_TRUE(ledger.waits().empty());
    for (const auto& [id, ticket] : asked) {
        if (ticket && ledger.find(id) != nullptr && answers.contains(id)) {
            EXPECT_EQ(answers[id].size(), 1U) << "each is told once";
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomWaiters, ::testing::Range(1U, 11U));

} // namespace
} // namespace genv::tests
