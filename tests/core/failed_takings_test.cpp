// SPDX-License-Identifier: LGPL-2.1-or-later
// Takings whose victims cannot be parked, or not in time: others are tried, everything is given
// back, and a loan of kind end is ended after a warning.
#include "tests/core/loans_fixture.hpp"

namespace genv::tests {
namespace {

using core::ParkingCall;
using core::ParkingFault;
using core::ParkingStep;
using core::Preemptible;
using std::chrono::minutes;
using std::chrono::seconds;

class FailedTakings : public LoansTest {
  protected:
    /// Begins a taking of environment 10 by 20, whose parking is examined. Then answers all that is
    /// asked for it, after something else happened and before the loop turns.
    template <typename Event>
    void examineAfter(Event event) {
        lending("10", alice, {0, 1});
        starting("20", bob);
        const auto ticket = askCount("20", 1);
        service->scheduler.turn();
        ASSERT_TRUE(takingOf("20"));
        event(ticket);
        for (const auto& each : std::exchange(driver.capabilities, {}))
            each(driver.can);
        service->observer.answer(sample());
        hostMemory.answer();
        ASSERT_TRUE(ledger().find("10") == nullptr || !environment("10").parking);
    }
};

TEST_F(FailedTakings, TryOtherLoansInstead) {
    lending("10", alice, {0}, gigabytes(4));
    lending("11", alice, {1}, gigabytes(9));
    starting("20", bob);
    driver.faults[{100, ParkingCall::Lock}] = {ParkingFault::NotSupported, 801};
    askCount("20", 1);
    settle();
    EXPECT_TRUE(goesOn("10"));
    EXPECT_TRUE(environment("10").loanFailed);
    EXPECT_TRUE(isParked("11"));
    EXPECT_TRUE(isGranted("20"));
}

TEST_F(FailedTakings, TellARequestThatOnlyTakesTheProblem) {
    lending("10", alice, {0, 1});
    starting("20", bob);
    driver.faults[{100, ParkingCall::Checkpoint}] = {ParkingFault::NotSupported, 801};
    askCount("20", 1, true);
    settle();
    EXPECT_TRUE(goesOn("10"));
    EXPECT_NE(refusalOf("20").find("managed memory"), std::string::npos) << refusalOf("20");
    EXPECT_FALSE(service->queue.couldTake({core::CountWanted{1}, {}, {}, false}, bob,
                                          Preemptible::No, &environment("20")))
        << "it is left alone for a while";
}

TEST_F(FailedTakings, AreTriedAgainLaterAndEachTimeAfterALongerTime) {
    lending("10", alice, {0, 1});
    starting("20", bob);
    driver.faults[{100, ParkingCall::Lock}] = {ParkingFault::NotReady, 600};
    askCount("20", 1);
    settle();
    EXPECT_TRUE(goesOn("10"));
    driver.faults[{100, ParkingCall::Lock}] = {ParkingFault::NotReady, 600};
    pass(minutes{1} + seconds{1});
    EXPECT_TRUE(goesOn("10"));
    pass(minutes{1} + seconds{1});
    EXPECT_TRUE(goesOn("10")) << "two minutes after the second failure";
    pass(minutes{1} + seconds{1});
    EXPECT_TRUE(isGranted("20"));
    EXPECT_FALSE(environment("10").loanFailed) << "parking it succeeded";
}

TEST_F(FailedTakings, ParkNobodyWithoutHostMemory) {
    hostMemory.reading.available = gigabytes(1);
    lending("10", alice, {0, 1});
    starting("20", bob);
    askCount("20", 1);
    settle();
    EXPECT_TRUE(goesOn("10"));
    EXPECT_EQ(refusalOf("20"), "no answer");
    EXPECT_NE(service->takings.problemOf(environment("20").waits[0].ticket).find("host memory"),
              std::string::npos);
}

TEST_F(FailedTakings, GiveWhatIsFreeIfTheVictimEndsBeforeItIsParked) {
    examineAfter([this](core::Queue::Ticket /*ticket*/) {
        ledger().end("10", {core::Reason::user(), alice});
        end(100);
        end(101);
    });
    EXPECT_EQ(ledger().find("10"), nullptr);
    ledger().observed(sample());
    settle();
    EXPECT_TRUE(isGranted("20"));
}

TEST_F(FailedTakings, CountForNothingOnceTheirTakerIsGone) {
    hostMemory.reading.available = gigabytes(1);
    examineAfter([this](core::Queue::Ticket ticket) { service->queue.cancel(ticket); });
    settle();
    EXPECT_TRUE(goesOn("10"));
    EXPECT_FALSE(environment("10").loanFailed);
    hostMemory.reading.available = gigabytes(90);
    starting("30", carol);
    askCount("30", 1);
    settle();
    EXPECT_TRUE(isGranted("30")) << "the loan is not left alone for a while";
}

TEST_F(FailedTakings, GiveBackAtTheDeadlineAndTheRequestWaitsOn) {
    lending("10", alice, {0});
    lending("11", alice, {1});
    starting("20", bob);
    askCount("20", 2);
    answerQuestions();
    // The calls for one of them do not return.
    while (!isParked("10")) {
        const auto ofFirst =
            std::ranges::find(driver.pending, pidOf("10"), &FakeDriver::Pending::pid);
        ASSERT_NE(ofFirst, driver.pending.end());
        driver.answerOne(static_cast<std::size_t>(ofFirst - driver.pending.begin()));
        answerQuestions();
    }
    clock.pass(settings.timeout + seconds{1});
    service->scheduler.pass(settings.timeout + seconds{1});
    answerQuestions();
    EXPECT_TRUE(environment("10").isAt(ParkingStep::Resuming));
    EXPECT_FALSE(environment("10").loanFailed) << "it was parked in time";
    EXPECT_TRUE(environment("11").loanFailed);
    settle();
    EXPECT_TRUE(goesOn("10"));
    EXPECT_TRUE(goesOn("11"));
    EXPECT_FALSE(isGranted("20"));
    EXPECT_EQ(environment("20").waits.size(), 1U);
}

TEST_F(FailedTakings, EndALoanOfThatKindAfterAWarning) {
    lending("10", alice, {0, 1}, gigabytes(8), Preemptible::End);
    starting("20", bob);
    driver.faults[{100, ParkingCall::Lock}] = {ParkingFault::NotSupported, 801};
    askCount("20", 1);
    settle();
    ASSERT_EQ(emittedOf<core::LoanEnding>().size(), 1U);
    EXPECT_EQ(emittedOf<core::LoanEnding>()[0].grace, seconds{30});
    EXPECT_EQ(emittedOf<core::LoanEnding>()[0].taker.environment, "20");
    EXPECT_TRUE(goesOn("10"));
    pass(seconds{29});
    EXPECT_TRUE(goesOn("10"));
    clock.pass(seconds{2});
    service->scheduler.pass(seconds{2});
    service->scheduler.turn();
    EXPECT_EQ(ledger().find("10"), nullptr);
    EXPECT_EQ(emittedOf<core::EnvironmentRemoved>().back().cause.reason.text(), "preempted");
    EXPECT_FALSE(isGranted("20")) << "its processes still use the GPUs";
    end(100);
    end(101);
    ledger().observed(sample());
    settle();
    EXPECT_TRUE(isGranted("20"));
}

TEST_F(FailedTakings, EndNobodyIfTheTakerGoesBefore) {
    terms.isIsolated = false;
    lending("10", alice, {0, 1}, gigabytes(8), Preemptible::End);
    starting("20", bob);
    const auto ticket = askCount("20", 1);
    settle();
    ASSERT_EQ(emittedOf<core::LoanEnding>().size(), 1U);
    service->queue.cancel(ticket);
    pass(minutes{2});
    EXPECT_TRUE(goesOn("10"));
}

} // namespace
} // namespace genv::tests
