// SPDX-License-Identifier: LGPL-2.1-or-later
// The service is killed at every step of a taking, and at every write of a document. Afterwards the
// taker has the GPUs or the victims go on, and in the end everybody does.
#include "tests/core/loans_fixture.hpp"

#include <tuple>

namespace genv::tests {
namespace {

using core::ParkingStep;
using std::chrono::seconds;

class KilledTaking : public LoansTest {
  protected:
    void lendAndTake() {
        lending("10", alice, {0});
        lending("11", alice, {1});
        starting("20", bob);
        ticket = askCount("20", 2);
    }
    /// The client of the request calls again after a restart, as genvctl does.
    void callAgain() {
        if (ledger().waits().contains(ticket))
            await("20", ticket);
    }
    void passUntilQuiet() {
        for (int i = 0; i < 6; ++i)
            pass(settings.lockTimeout + core::helperTime + seconds{1});
    }
    void expectNobodyLost() {
        expectNothingTwice(ledger());
        EXPECT_TRUE(driver.lockedOnes().empty());
        for (const auto& [pid, process] : driver.living)
            EXPECT_FALSE(process.isLost) << "process " << pid;
        for (const char* id : {"10", "11", "20"})
            ASSERT_NE(ledger().find(id), nullptr) << id;
    }
    /// Expects that the taker gets its GPUs, and that everybody goes on when it gives them back.
    void expectAllServed() {
        passUntilQuiet();
        for (int i = 0; i < 8 && environment("20").attachments.empty(); ++i)
            pass(std::chrono::minutes{1});
        expectNobodyLost();
        EXPECT_EQ(environment("20").attachments.size(), 2U);
        EXPECT_TRUE(isParked("10") && isParked("11"));
        detach("20");
        passUntilQuiet();
        expectNobodyLost();
        EXPECT_TRUE(goesOn("10") && goesOn("11"));
        EXPECT_TRUE(ledger().waits().empty());
    }

    core::Queue::Ticket ticket = 0;
};

class KilledAtAnswer : public KilledTaking,
                       public ::testing::WithParamInterface<std::tuple<int, bool, bool>> {};

TEST_P(KilledAtAnswer, LosesNobody) {
    const auto [steps, areCarriedOut, returns] = GetParam();
    lendAndTake();
    answerQuestions();
    for (int i = 0; i < steps && !driver.pending.empty(); ++i) {
        driver.answerOne();
        answerQuestions();
    }
    const bool wasGranted = isGranted("20");
    kill(areCarriedOut);
    if (returns || wasGranted) {
        callAgain();
        settle();
        expectAllServed();
        return;
    }
    passUntilQuiet();
    expectNobodyLost();
    EXPECT_TRUE(ledger().waits().empty()) << "its client did not call again";
    EXPECT_TRUE(goesOn("10") && goesOn("11"));
}

INSTANTIATE_TEST_SUITE_P(AtEachStep, KilledAtAnswer,
                         ::testing::Combine(::testing::Range(0, 6), ::testing::Bool(),
                                            ::testing::Bool()));

// What a crash leaves behind.
struct Remains {
    std::map<std::string, std::string> documents;
    std::map<core::Pid, FakeDriver::Process> living;
};

TEST_F(KilledTaking, GoesOnFromEveryStateThatWasWritten) {
    std::vector<Remains> all;
    lendAndTake();
    store.changed = [&] { all.push_back({store.documents, driver.living}); };
    settle();
    ASSERT_TRUE(isGranted("20"));
    detach("20");
    passUntilQuiet();
    ASSERT_TRUE(goesOn("10") && goesOn("11"));
    store.changed = [] {};
    ASSERT_GE(all.size(), 10U);
    for (const Remains& remains : all) {
        kill(false);
        service.reset();
        store.documents = remains.documents;
        driver.living = remains.living;
        answers.clear();
        begin();
        callAgain();
        settle();
        passUntilQuiet();
        const bool isDone =
            environment("20").attachments.empty() && environment("20").waits.empty();
        if (!isDone)
            expectAllServed();
        expectNobodyLost();
        EXPECT_TRUE(goesOn("10") && goesOn("11"));
        if (HasFailure())
            FAIL() << "from state " << &remains - all.data() << " of " << all.size();
    }
}

TEST_F(KilledTaking, EndsARequestThatDoesNotWaitAndGivesEverythingBack) {
    lending("10", alice, {0, 1});
    starting("20", bob);
    askCount("20", 1, true);
    answerQuestions();
    ASSERT_TRUE(environment("10").isAt(ParkingStep::Parking));
    kill();
    settle();
    passUntilQuiet();
    EXPECT_TRUE(ledger().waits().empty());
    EXPECT_TRUE(goesOn("10"));
}

TEST_F(KilledTaking, KeepsTheReservationAgainstOthers) {
    lendAndTake();
    answerQuestions();
    kill(false);
    starting("30", 1003);
    const core::AttachRequest one{core::CountWanted{1}, {}, {}, true};
    EXPECT_THROW(static_cast<void>(service->queue.place(one, &environment("30"))), core::Error);
    callAgain();
    expectAllServed();
}

TEST_F(KilledTaking, IsNotBegunIfItCannotBeWritten) {
    lending("10", alice, {0});
    lending("11", alice, {1});
    starting("20", bob);
    ticket = askCount("20", 2);
    store.writesUntilFailure = 0;
    store.maxFailures = store.failures + 1;
    answerQuestions();
    EXPECT_FALSE(takingOf("20"));
    EXPECT_TRUE(goesOn("10") && goesOn("11"));
    pass(seconds{2});
    expectAllServed();
}

} // namespace
} // namespace genv::tests
