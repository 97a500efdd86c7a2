// SPDX-License-Identifier: LGPL-2.1-or-later
// Environments that the service itself parks: at the end of a lease, and while their GPUs are idle
// and somebody waits for them.
#include "core/environments/leases.hpp"
#include "tests/core/loans_fixture.hpp"

namespace genv::tests {
namespace {

using core::ParkingCall;
using core::ParkingFault;
using core::ParkingStep;
using std::chrono::seconds;

class ParkingAtLeaseEnd : public LoansTest {
  protected:
    // What the service does, also after a restart.
    void watchLeases() {
        leases.emplace(ledger(), clock, service->scheduler, service->events);
        leases->parkBy([this](const core::EnvironmentId& id, std::function<void(bool)> done) {
            return service->parkings.tryToPark(id, core::Reason::expired(), std::move(done));
        });
        service->events.subscribe([this](const core::Event& event) { leases->onEvent(event); });
        leases->check();
    }
    void haveLeased() {
        watchLeases();
        processes.add(10, alice);
        core::NewEnvironment wanted{"10", alice, "alice", {}, {}, {}};
        wanted.processes.push_back(core::adopt(processes.pin(10), alice, alice));
        wanted.lifetime = seconds{60};
        ledger().activate(std::move(wanted), std::nullopt, alice);
        const core::AttachRequest request{core::IndicesWanted{{0}}, {}, {}, false};
        ledger().attach("10", core::place(request, ledger().devices(), &environment()), alice);
        computing(100, "10", 0);
        ledger().observed(sample());
        settle();
    }

    std::optional<core::Leases> leases;
};

TEST_F(ParkingAtLeaseEnd, KeepsTheWorkForANewLease) {
    haveLeased();
    pass(seconds{61});
    ASSERT_NE(ledger().find("10"), nullptr);
    ASSERT_TRUE(isParked("10"));
    EXPECT_EQ(environment().parking->reason, "expired");
    EXPECT_TRUE(environment().waits.empty()) << "its user asks for it";
    pass(seconds{600});
    ASSERT_TRUE(isParked("10"));
    resume();
    settle();
    EXPECT_TRUE(goesOn("10"));
    ASSERT_TRUE(environment().lease);
    EXPECT_GT(environment().lease->until, clock.bootNow() + seconds{50}) << "a new lease";
    pass(seconds{61});
    EXPECT_TRUE(isParked("10")) << "the new lease ended as well";
}

TEST_F(ParkingAtLeaseEnd, EndsWhatCannotBeParked) {
    haveLeased();
    driver.faults[{100, ParkingCall::Lock}] = {ParkingFault::NotSupported, 801};
    pass(seconds{61});
    EXPECT_EQ(ledger().find("10"), nullptr);
    EXPECT_EQ(emittedOf<core::EnvironmentRemoved>().at(0).cause.reason.text(), "expired");
}

TEST_F(ParkingAtLeaseEnd, SurvivesAKillInTheMiddle) {
    haveLeased();
    clock.pass(seconds{61});
    service->scheduler.pass(seconds{61});
    answerQuestions();
    ASSERT_TRUE(environment().isAt(ParkingStep::Parking));
    leases.reset();
    kill();
    watchLeases();
    for (int i = 0; i < 4; ++i)
        pass(settings.lockTimeout + core::helperTime + seconds{1});
    ASSERT_NE(ledger().find("10"), nullptr);
    EXPECT_TRUE(isParked("10"));
    EXPECT_TRUE(driver.living.contains(100));
}

class IdleParking : public LoansTest {};

TEST_F(IdleParking, HappensOnlyWhileSomebodyWaitsForTheGpu) {
    holding("10", alice, {0});
    computing(100, "10", 0);
    holding("30", carol, {1});
    ledger().observed(sample());
    EXPECT_FALSE(service->takings.parkIdle("10", "GPU-0")) << "nobody waits";
    starting("20", bob);
    ask("20", {core::IndicesWanted{{1}}, {}, {}, false});
    EXPECT_FALSE(service->takings.parkIdle("10", "GPU-0")) << "nobody waits for this one";
    starting("21", bob);
    askCount("21", 1);
    EXPECT_TRUE(service->takings.parkIdle("10", "GPU-0"));
    settle();
    EXPECT_TRUE(isGranted("21"));
    ASSERT_TRUE(isParked("10"));
    EXPECT_EQ(environment("10").parking->reason, "idle");
    detach("21");
    EXPECT_TRUE(goesOn("10")) << "it waits by itself";
}

TEST_F(IdleParking, NeedsIsolation) {
    terms.isIsolated = false;
    holding("10", alice, {0, 1});
    starting("20", bob);
    askCount("20", 1);
    EXPECT_FALSE(service->takings.parkIdle("10", "GPU-0"));
}

} // namespace
} // namespace genv::tests
