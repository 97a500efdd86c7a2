// SPDX-License-Identifier: LGPL-2.1-or-later
// The service restarts while environments linger or their end is pending.
#include "core/ledger/recovery.hpp"
#include "tests/core/lingering_fixture.hpp"

namespace genv::tests {
namespace {

class LingeringRecovery : public LingeringTest {
  protected:
    // The service after a restart: its ledger is new, and its driver has not answered yet.
    struct Again {
        core::EventHub events;
        core::Ledger ledger;
        FakeObserver observer;
        core::Lingering lingering;
        core::RecoveryReport report;
        Again(LingeringRecovery& test)
            : ledger(test.store, test.clock, events),
              lingering(ledger, observer, test.processes, test.scheduler, events,
                        [&test] { return test.allowed; }),
              report(core::recover(ledger, test.store, test.processes, test.clock.bootNow())) {
            events.subscribe([this](const core::Event& event) { lingering.onEvent(event); });
            lingering.start();
        }
        void sample(LingeringRecovery& test, core::Observation observation) {
            test.scheduler.turn();
            observation.takenAt = test.clock.wallNow();
            observer.keep(observation);
            ledger.observed(observation);
            lingering.observed(observation);
            observer.answerKept();
            test.scheduler.turn();
        }
    };

    void crash() { processes.onExit({}); }
};

TEST_F(LingeringRecovery, KeepsWhatLingered) {
    lingerOnGpu0(1);
    crash();
    Again again(*this);
    EXPECT_EQ(again.report.restored, 1U);
    EXPECT_TRUE(again.ledger.get("10").isLingering());
    EXPECT_EQ(again.ledger.get("10"), ledger.get("10"));
}

TEST_F(LingeringRecovery, AsksTheDriverAboutWhatEndedWhileItWasAway) {
    haveGpus(2);
    holding("10", alice, {0});
    holding("20", bob, {1});
    crash();
    const auto remaining = worker(500, alice, {"GPU-0"}, "10");
    processes.exit(10);
    processes.exit(20);
    Again again(*this);
    EXPECT_EQ(again.report.restored, 2U);
    EXPECT_FALSE(again.ledger.device(0).isAvailable(std::nullopt));
    EXPECT_FALSE(again.ledger.device(1).isAvailable(std::nullopt));

    // The driver hangs. Meanwhile no device is offered as free, and no caller waits for long.
    scheduler.turn();
    EXPECT_TRUE(again.lingering.isSettling());
    scheduler.pass(core::endingSampleDeadline);
    EXPECT_FALSE(again.lingering.isSettling());
    EXPECT_FALSE(again.ledger.device(0).isAvailable(std::nullopt));
    EXPECT_FALSE(again.ledger.device(1).isAvailable(std::nullopt));

    again.sample(*this, sampleOf(2, {remaining}));
    EXPECT_TRUE(again.ledger.get("10").isLingering());
    EXPECT_EQ(again.ledger.find("20"), nullptr);
    EXPECT_FALSE(store.documents.contains("20"));
}

TEST_F(LingeringRecovery, KnowsWhoBelongedToWhatWasEndingWhenItWasKilled) {
    haveGpus(1);
    holding("10", alice, {0});
    core::ObservedProcess child = childOf(10, 500);
    sample(sampleOf(1, {child}));
    processes.exit(10);
    crash(); // before the sample
    child.ancestors = {};
    Again again(*this);
    again.sample(*this, sampleOf(1, {child}));
    EXPECT_TRUE(again.ledger.get("10").isLingering());
}

TEST_F(LingeringRecovery, EndsWhatLingeredAndIsGone) {
    lingerOnGpu0(1);
    crash();
    processes.exit(500);
    Again again(*this);
    ASSERT_NE(again.ledger.find("10"), nullptr) << "new workers would keep it";
    again.sample(*this, sampleOf(1, {}));
    EXPECT_EQ(again.ledger.find("10"), nullptr);
    EXPECT_TRUE(store.documents.empty());
}

TEST_F(LingeringRecovery, EndsAtOnceWhereItIsNotAllowed) {
    haveGpus(1);
    holding("10", alice, {0});
    crash();
    processes.exit(10);
    allowed = false;
    Again again(*this);
    EXPECT_EQ(again.ledger.find("10"), nullptr);
    EXPECT_EQ(again.report.ended, 1U);
}

TEST_F(LingeringRecovery, EndsALeaseThatExpiredMeanwhile) {
    haveGpus(1);
    activate("10", alice);
    ledger.attach("10", planned("10", {core::CountWanted{1}, {}, {}, false}), alice,
                  {false, std::chrono::seconds{60}});
    const auto remaining = worker(500, alice, {"GPU-0"}, "10");
    processes.exit(10);
    sample(sampleOf(1, {remaining}));
    ASSERT_TRUE(isLingering("10"));
    crash();
    clock.pass(std::chrono::seconds{61});
    Again again(*this);
    EXPECT_EQ(again.ledger.find("10"), nullptr);
    EXPECT_TRUE(store.documents.empty());
}

} // namespace
} // namespace genv::tests
