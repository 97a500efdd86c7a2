// SPDX-License-Identifier: LGPL-2.1-or-later
// Requests take GPUs on loan: who is parked, when the taker starts, and how everybody comes back.
#include "tests/core/loans_fixture.hpp"

namespace genv::tests {
namespace {

using core::ParkingStep;
using core::Preemptible;
using std::chrono::minutes;
using std::chrono::seconds;

class Loans : public LoansTest {};

TEST_F(Loans, AreTakenByARequestThatWaitsAndGoOnWhenItIsDone) {
    lending("10", alice, {0, 1});
    starting("20", bob);
    askCount("20", 1);
    settle();
    EXPECT_TRUE(isGranted("20"));
    EXPECT_EQ(environment("20").attachments.size(), 1U);
    ASSERT_TRUE(isParked("10"));
    EXPECT_EQ(environment("10").parking->reason, "taken");
    EXPECT_EQ(environment("10").parking->taker->user, environment("20").user);
    ASSERT_EQ(emittedOf<core::TakingBegan>().size(), 1U);
    EXPECT_EQ(emittedOf<core::TakingBegan>()[0].victims[0].environment, "10");
    EXPECT_EQ(emittedOf<core::TakingBegan>()[0].victims[0].bytes, gigabytes(16));
    ASSERT_EQ(emittedOf<core::TakingEnded>().size(), 1U);
    EXPECT_EQ(emittedOf<core::TakingEnded>()[0].why, "");
    EXPECT_EQ(emittedOf<core::EnvironmentParked>().at(0).taker->environment, "20");
    detach("20");
    EXPECT_TRUE(goesOn("10"));
    EXPECT_EQ(environment("10").deviceIndices(), (std::vector<core::DeviceIndex>{0, 1}));
    EXPECT_TRUE(environment("10").waits.empty());
}

TEST_F(Loans, AreTakenByARequestThatDoesNotWait) {
    lending("10", alice, {0, 1});
    starting("20", bob);
    EXPECT_TRUE(service->queue.couldTake({core::CountWanted{2}, {}, {}, false}, bob,
                                         Preemptible::No, &environment("20")));
    EXPECT_TRUE(service->queue.couldTake({core::CountWanted{2}, {}, {}, false}, bob,
                                         Preemptible::No, nullptr))
        << "an environment that is yet to start";
    askCount("20", 2, true);
    settle();
    EXPECT_TRUE(isGranted("20"));
    EXPECT_TRUE(isParked("10"));
}

TEST_F(Loans, AreNotTakenByPreemptibleRequests) {
    lending("10", alice, {0, 1});
    starting("20", bob, Preemptible::Park);
    EXPECT_FALSE(service->queue.couldTake({core::CountWanted{1}, {}, {}, false}, bob,
                                          Preemptible::Park, &environment("20")));
    askCount("20", 1);
    settle();
    EXPECT_TRUE(goesOn("10"));
    EXPECT_EQ(refusalOf("20"), "no answer");
}

TEST_F(Loans, AreNotTakenIfTheyDoNotCompleteTheRequest) {
    lending("10", alice, {0});
    holding("30", carol, {1});
    starting("20", bob);
    askCount("20", 2);
    settle();
    EXPECT_TRUE(goesOn("10"));
    EXPECT_FALSE(takingOf("20"));
    EXPECT_FALSE(service->queue.couldTake({core::CountWanted{2}, {}, {}, false}, bob,
                                          Preemptible::No, &environment("20")));
}

TEST_F(Loans, MayBeOnesOwn) {
    lending("10", alice, {0, 1});
    starting("20", alice);
    askCount("20", 1);
    settle();
    EXPECT_TRUE(isGranted("20"));
    EXPECT_TRUE(isParked("10"));
}

TEST_F(Loans, AreLeftAloneWithoutIsolationUnlessThatIsPermitted) {
    terms.isIsolated = false;
    lending("10", alice, {0, 1});
    starting("20", bob);
    askCount("20", 1);
    settle();
    EXPECT_TRUE(goesOn("10"));
    settings.withoutIsolation = true;
    service->queue.settingsChanged();
    settle();
    EXPECT_TRUE(isGranted("20"));
}

TEST_F(Loans, AreTakenWhenIsolationBegins) {
    terms.isIsolated = false;
    lending("10", alice, {0, 1});
    starting("20", bob);
    askCount("20", 1);
    settle();
    ASSERT_TRUE(goesOn("10"));
    terms.isIsolated = true;
    service->events.emit(core::IsolationChanged{});
    settle();
    EXPECT_TRUE(isGranted("20"));
    EXPECT_TRUE(isParked("10"));
}

TEST_F(Loans, ThatAreSharesOrAreSharedAreLeftAlone) {
    starting("10", alice);
    const core::AttachRequest share{core::IndicesWanted{{0}}, {}, gigabytes(4), false};
    ledger().attach("10", core::place(share, ledger().devices(), &environment("10")), alice);
    core::EnvironmentConfigurationChange change;
    change.preemptible = Preemptible::Park;
    ledger().configure("10", change, alice);
    holding("30", carol, {1});
    starting("20", bob);
    askCount("20", 1);
    settle();
    EXPECT_EQ(environment("10").attachments.size(), 1U);
    EXPECT_FALSE(takingOf("20"));
}

TEST_F(Loans, OfAParentOrAChildAreLeftAlone) {
    lending("10", alice, {0, 1});
    processes.add(11, alice);
    core::NewEnvironment child{"11", alice, "alice", {}, {}, {}};
    child.processes.push_back(core::adopt(processes.pin(11), alice, alice));
    child.parent = "10";
    child.configuration.preemptible = Preemptible::Park;
    ledger().activate(std::move(child), std::nullopt, alice);
    starting("20", bob);
    askCount("20", 1);
    settle();
    EXPECT_TRUE(goesOn("10"));
    processes.exit(11);
    settle();
    EXPECT_TRUE(isGranted("20")) << "it is no parent any more";
}

TEST_F(Loans, AreReservedForTheTakerWhileTheyAreParked) {
    lending("10", alice, {0, 1});
    starting("20", bob);
    starting("30", carol);
    askCount("20", 1);
    answerQuestions();
    ASSERT_TRUE(takingOf("20"));
    const core::DeviceUuid taken = takingOf("20")->devices.at(0);
    const core::AttachRequest both{core::CountWanted{2}, {}, {}, true};
    EXPECT_THROW(static_cast<void>(service->queue.place(both, &environment("30"))), core::Error);
    settle();
    EXPECT_TRUE(isGranted("20"));
    EXPECT_NE(environment("20").attachmentTo(taken), nullptr);
}

TEST_F(Loans, AreTheTakersForItsWholeTimeInTheForecastWhileTheyAreParked) {
    using std::chrono::hours;
    const core::AttachRequest one{core::CountWanted{1}, {}, {}, false};
    const core::AttachRequest second{core::IndicesWanted{{1}}, {}, {}, false};
    count = 3;
    begin();
    lending("10", alice, {0});
    holding("50", dave, {2});
    for (const char* id : {"20", "30", "40"})
        starting(id, carol);
    ledger().attach("40", core::place(second, ledger().devices(), &environment("40")), carol,
                    {false, hours{10}});
    const core::Plan plan = service->queue.placeOrWait(one, &environment("20"), hours{5});
    ledger().attach("20", plan, carol, {false, hours{5}});
    await("20", environment("20").waits.back().ticket);
    answerQuestions();
    ASSERT_TRUE(takingOf("20"));
    askCount("30", 2);
    ledger().detach("50", {}, dave);
    const auto isLentFor = [&](hours time) {
        try {
            static_cast<void>(service->queue.place(one, &environment("50"), time));
        } catch (const core::Error&) {
            return false;
        }
        return true;
    };
    EXPECT_TRUE(isLentFor(hours{5})) << "30 starts when 20 is done";
    EXPECT_FALSE(isLentFor(hours{6}));
}

TEST_F(Loans, ServeTwoTakersFromTwoVictims) {
    lending("10", alice, {0});
    lending("11", alice, {1});
    starting("20", bob);
    starting("30", carol);
    askCount("20", 1);
    askCount("30", 1);
    settle();
    EXPECT_TRUE(isGranted("20") && isGranted("30"));
    EXPECT_TRUE(isParked("10") && isParked("11"));
}

TEST_F(Loans, OfOneVictimServeTwoTakersWithItsTwoDevices) {
    lending("10", alice, {0, 1});
    starting("20", bob);
    starting("30", carol);
    askCount("20", 1);
    askCount("30", 1);
    settle();
    EXPECT_TRUE(isGranted("20") && isGranted("30"));
    detach("20");
    EXPECT_TRUE(isParked("10")) << "it needs both";
    detach("30");
    EXPECT_TRUE(goesOn("10"));
}

TEST_F(Loans, WithOneDeviceServeTheFirstOfTwoTakers) {
    count = 1;
    begin();
    lending("10", alice, {0});
    starting("20", bob);
    starting("30", carol);
    askCount("20", 1);
    askCount("30", 1);
    settle();
    EXPECT_TRUE(isGranted("20"));
    EXPECT_EQ(refusalOf("30"), "no answer");
    detach("20");
    EXPECT_TRUE(isGranted("30")) << "it waited before the loan was parked";
    EXPECT_TRUE(isParked("10"));
    detach("30");
    EXPECT_TRUE(goesOn("10"));
}

TEST_F(Loans, RestBeforeTheyAreTakenAgain) {
    lending("10", alice, {0, 1});
    starting("20", bob);
    askCount("20", 2);
    settle();
    detach("20");
    ASSERT_TRUE(goesOn("10"));
    starting("30", carol);
    askCount("30", 1);
    settle();
    EXPECT_TRUE(goesOn("10"));
    pass(core::restAfterReturn + seconds{1});
    EXPECT_TRUE(isGranted("30"));
}

TEST_F(Loans, AreFreeWhenTheVictimEndsInsteadOfBeingParked) {
    lending("10", alice, {0, 1});
    starting("20", bob);
    askCount("20", 2);
    answerQuestions();
    ASSERT_TRUE(environment("10").isAt(ParkingStep::Parking));
    end(100);
    end(101);
    processes.exit(10);
    settle();
    EXPECT_EQ(ledger().find("10"), nullptr);
    EXPECT_TRUE(isGranted("20"));
}

TEST_F(Loans, AreFreeWhenTheOwnerOfTheVictimDeactivatesIt) {
    lending("10", alice, {0, 1});
    starting("20", bob);
    askCount("20", 2);
    answerQuestions();
    ledger().deactivate("10", alice);
    settle();
    EXPECT_TRUE(isGranted("20"));
    detach("20");
    ASSERT_NE(ledger().find("10"), nullptr) << "its processes live";
    EXPECT_TRUE(goesOn("10")) << "they come back, though no shell is left";
}

TEST_F(Loans, KeepTheirOwnersFromChangingThemWhileTheyAreParked) {
    lending("10", alice, {0, 1});
    starting("20", bob);
    askCount("20", 1);
    answerQuestions();
    core::EnvironmentConfigurationChange longer;
    longer.lifetime = seconds{60};
    EXPECT_THROW(ledger().configure("10", longer, alice), core::Error);
    EXPECT_THROW(ledger().detach("10", {}, alice), core::Error);
    settle();
    EXPECT_TRUE(isGranted("20"));
    core::EnvironmentConfigurationChange change;
    change.preemptible = Preemptible::No;
    ledger().configure("10", change, alice);
    detach("20");
    EXPECT_TRUE(goesOn("10"));
}

TEST_F(Loans, AreLeftAloneIfTheirOwnerAsksForMoreMeanwhile) {
    lending("10", alice, {0});
    holding("30", carol, {1});
    starting("20", bob);
    askCount("20", 1);
    service->scheduler.turn();
    ASSERT_TRUE(takingOf("20"));
    ASSERT_FALSE(environment("10").parking) << "the driver is asked first";
    askCount("10", 2);
    settle();
    EXPECT_TRUE(goesOn("10"));
    EXPECT_FALSE(isGranted("20"));
    detach("30");
    EXPECT_TRUE(isGranted("20")) << "it waited first";
}

TEST_F(Loans, GoOnWhenTheTakerIsCanceledBeforeTheyAreParked) {
    lending("10", alice, {0, 1});
    starting("20", bob);
    const auto ticket = askCount("20", 1);
    answerQuestions();
    driver.answerOne();
    service->queue.cancel(ticket);
    settle();
    EXPECT_TRUE(goesOn("10"));
    ASSERT_EQ(emittedOf<core::TakingEnded>().size(), 1U);
    EXPECT_NE(emittedOf<core::TakingEnded>()[0].why, "");
}

TEST_F(Loans, RestAfterTheirTakerWasCanceledSoThatNobodyKeepsThemFromTheirWork) {
    lending("10", alice, {0, 1});
    starting("20", bob);
    for (int times = 0; times < 3; ++times) {
        const auto ticket = askCount("20", 1);
        answerQuestions();
        service->queue.cancel(ticket);
        settle();
        ASSERT_TRUE(goesOn("10"));
    }
    EXPECT_EQ(emittedOf<core::TakingBegan>().size(), 1U);
    askCount("20", 1);
    settle();
    EXPECT_FALSE(isGranted("20"));
    pass(core::restAfterReturn + seconds{1});
    EXPECT_TRUE(isGranted("20"));
}

TEST_F(Loans, GoOnWhenTheTakerIsKilled) {
    lending("10", alice, {0, 1});
    starting("20", bob);
    askCount("20", 1);
    answerQuestions();
    processes.exit(20);
    settle();
    EXPECT_EQ(ledger().find("20"), nullptr);
    EXPECT_TRUE(goesOn("10"));
}

TEST_F(Loans, ThatAreParkedGoOnFirstWhenTheirTakerIsCanceled) {
    lending("10", alice, {0});
    lending("11", alice, {1}, gigabytes(9));
    starting("30", carol);
    starting("20", bob);
    const auto ticket = askCount("20", 2);
    answerQuestions();
    while (!isParked("10") && !driver.pending.empty()) {
        const auto ofFirst =
            std::ranges::find(driver.pending, pidOf("10"), &FakeDriver::Pending::pid);
        ASSERT_NE(ofFirst, driver.pending.end());
        driver.answerOne(static_cast<std::size_t>(ofFirst - driver.pending.begin()));
        answerQuestions();
    }
    ASSERT_TRUE(isParked("10"));
    askCount("30", 1); // it would have the GPU of 10 before 10
    service->queue.cancel(ticket);
    answerQuestions();
    EXPECT_TRUE(environment("10").isAt(ParkingStep::Resuming));
    settle();
    EXPECT_TRUE(goesOn("10") || isGranted("30"));
}

// -- quotas, chains, turns

TEST_F(Loans, AreNotTakenByARequestOverItsQuota) {
    terms.limits[bob].maxDevices = 1;
    lending("10", alice, {0});
    holding("21", bob, {1});
    starting("20", bob);
    ask("20", {core::CountWanted{1}, {}, {}, false}, false, true);
    settle();
    EXPECT_TRUE(goesOn("10"));
    detach("21");
    EXPECT_TRUE(isGranted("20"));
    EXPECT_TRUE(goesOn("10"));
}

TEST_F(Loans, GoOnIfTheTakerIsOverItsQuotaByThen) {
    lending("10", alice, {0, 1});
    starting("20", bob);
    askCount("20", 1);
    answerQuestions();
    terms.limits[bob].maxDevices = 0;
    settle();
    EXPECT_NE(refusalOf("20"), "");
    EXPECT_NE(refusalOf("20"), "no answer");
    EXPECT_TRUE(goesOn("10"));
}

TEST_F(Loans, ComeBackThroughAChainOfTakings) {
    count = 1;
    begin();
    lending("10", alice, {0});
    starting("20", bob);
    askCount("20", 1);
    settle();
    ASSERT_TRUE(isGranted("20"));
    // Now bob's environment is on loan as well, and carol takes it.
    core::EnvironmentConfigurationChange change;
    change.preemptible = Preemptible::Park;
    ledger().configure("20", change, bob);
    computing(200, "20", 0);
    ledger().observed(sample());
    starting("30", carol);
    askCount("30", 1);
    settle();
    ASSERT_TRUE(isGranted("30"));
    EXPECT_TRUE(isParked("10") && isParked("20"));
    detach("30");
    EXPECT_TRUE(goesOn("10")) << "it was parked first";
    EXPECT_TRUE(isParked("20"));
    end(100);
    detach("10");
    EXPECT_TRUE(goesOn("20"));
}

TEST_F(Loans, LetARequestHaveFreeGpusThatArePromisedToPreemptibleRequests) {
    holding("30", carol, {0});
    starting("10", alice, Preemptible::Park);
    askCount("10", 2);
    settle();
    ASSERT_FALSE(isGranted("10"));
    starting("20", bob);
    EXPECT_TRUE(service->queue.couldTake({core::CountWanted{1}, {}, {}, false}, bob,
                                         Preemptible::No, &environment("20")));
    askCount("20", 1, true);
    settle();
    EXPECT_TRUE(isGranted("20"));
    EXPECT_EQ(environment("10").waits.at(0).overtakings, 1U);
    EXPECT_TRUE(emittedOf<core::TakingBegan>().empty()) << "nobody is parked";
}

TEST_F(Loans, GoOnBeforeOtherRequestsOfTheirUser) {
    lending("10", alice, {0, 1});
    starting("12", alice, Preemptible::Park);
    askCount("12", 2);
    starting("20", bob);
    askCount("20", 2);
    settle();
    ASSERT_TRUE(isGranted("20"));
    detach("20");
    EXPECT_TRUE(goesOn("10"));
    EXPECT_FALSE(isGranted("12"));
}

TEST_F(Loans, TakeTurnsIfTheAdministratorWantsThat) {
    settings.turn = minutes{10};
    lending("10", alice, {0, 1});
    starting("20", bob, Preemptible::Park);
    askCount("20", 2);
    settle();
    EXPECT_TRUE(goesOn("10"));
    pass(minutes{10} + seconds{1});
    EXPECT_TRUE(isGranted("20"));
    ASSERT_TRUE(isParked("10"));
    computing(200, "20", 0);
    computing(201, "20", 1);
    ledger().observed(sample());
    pass(minutes{10} + seconds{1});
    EXPECT_TRUE(goesOn("10"));
    EXPECT_TRUE(isParked("20"));
}

TEST_F(Loans, HaveNoTurnBeforeARequestThatIsNotPreemptible) {
    settings.turn = minutes{10};
    lending("10", alice, {0, 1});
    starting("20", bob);
    askCount("20", 2);
    settle();
    EXPECT_TRUE(isGranted("20"));
}

TEST_F(Loans, LetOthersPassAPreemptibleRequestUntilItCannotBeOvertakenAnyMore) {
    terms.order.maxOvertaking = 1;
    lending("10", alice, {0, 1});
    starting("12", dave, Preemptible::Park);
    askCount("12", 2);
    starting("30", carol);
    askCount("30", 2);
    settle();
    ASSERT_TRUE(isGranted("30")) << "it passes a preemptible request";
    EXPECT_EQ(environment("12").waits.at(0).overtakings, 1U);
    core::EnvironmentConfigurationChange change;
    change.preemptible = Preemptible::Park;
    ledger().configure("30", change, carol);
    starting("40", 1005);
    askCount("40", 2);
    settle();
    EXPECT_FALSE(isGranted("40")) << "it may not pass it again";
    EXPECT_FALSE(takingOf("40"));
    detach("30");
    EXPECT_TRUE(isGranted("12"));
}

TEST_F(Loans, DoNotEndForBeingParkedTooLongForOthers) {
    lending("10", alice, {0, 1});
    starting("20", bob);
    askCount("20", 1);
    settle();
    pass(settings.maxParkedTime + minutes{2});
    EXPECT_TRUE(isParked("10"));
    EXPECT_TRUE(emittedOf<core::ParkedTooLong>().empty());
    detach("20");
    EXPECT_TRUE(goesOn("10"));
}

TEST_F(Loans, TellTheirUserWhenTheyGoOn) {
    lending("10", alice, {0, 1});
    starting("20", bob);
    askCount("20", 1);
    settle();
    std::optional<std::string> told;
    service->parkings.whenResumed("10", [&](const auto& refusal) {
        told = refusal ? std::string(refusal->what()) : std::string();
    });
    settle();
    EXPECT_FALSE(told);
    detach("20");
    EXPECT_EQ(told, "");
}

} // namespace
} // namespace genv::tests
