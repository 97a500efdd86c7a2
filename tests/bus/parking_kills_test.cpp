// SPDX-License-Identifier: LGPL-2.1-or-later
// An environment is parked and resumed again and again, while the service, the helper or the
// process that makes its call is killed at random moments, and during each call of the driver. Its
// program is never lost or locked, and nobody gets its GPU while it computes.
//
// GENV_PARKING_CYCLES and GENV_PARKING_SEED choose how often, and which moments.
#include "tests/bus/support/cuda.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <map>
#include <random>

namespace genv::tests {
namespace {

using Clock = std::chrono::steady_clock;

std::uint64_t variable(const char* name, std::uint64_t otherwise) {
    const char* value = std::getenv(name);
    return value != nullptr ? std::stoull(value) : otherwise;
}

class ParkingKills : public CudaBusTest {
  protected:
    int pick(int limit) { return std::uniform_int_distribution<int>(0, limit - 1)(random); }
    template <std::size_t size>
    std::string anyOf(const std::array<const char*, size>& names) {
        return names.at(static_cast<std::size_t>(pick(size)));
    }

    bool isSettled() {
        const std::string state = stateOf(alices->id);
        return state == "active" || state == "parked";
    }
    // Each call takes some milliseconds, so that a kill can hit it.
    void delayCalls() {
        nlohmann::json faults;
        for (const char* name : {"cuCheckpointProcessGetState", "cuCheckpointProcessLock",
                                 "cuCheckpointProcessCheckpoint", "cuCheckpointProcessRestore",
                                 "cuCheckpointProcessUnlock"})
            faults[name] = {{"delay", 10 + pick(20)}};
        machine.inject("alices", faults);
    }
    // Waits until the chosen call is being made, or for a random time.
    void awaitMoment(bool parks) {
        constexpr std::array<const char*, 3> ofPark{"", "Lock", "Checkpoint"};
        constexpr std::array<const char*, 4> ofResume{"", "GetState", "Restore", "Unlock"};
        const std::string call = parks ? anyOf(ofPark) : anyOf(ofResume);
        if (call.empty()) {
            ::usleep(static_cast<useconds_t>(pick(200'000))); // the moment is what is random
            return;
        }
        const std::string before = stateOf(alices->id);
        bool hasBegun = false;
        waitUntil(
            [&] {
                const std::string state = stateOf(alices->id);
                hasBegun |= state != before;
                return alices->program->currentCall() == "cuCheckpointProcess" + call ||
                       (hasBegun && (state == "active" || state == "parked"));
            },
            "the call");
    }
    void killSomebody() {
        std::string call = alices->program->currentCall();
        call = call.empty() ? "none" : call.substr(std::string("cuCheckpointProcess").size());
        const int victim = pick(4);
        if (victim == 3) {
            ++kills["nobody"];
            return;
        }
        if (victim == 0)
            service.restart(SIGKILL);
        const int killed = victim == 0   ? 1
                           : victim == 1 ? helpers.killHelpers()
                                         : helpers.killTheirChildren();
        constexpr std::array<const char*, 3> names{"genvd", "helper", "child"};
        ++kills[std::string(names.at(static_cast<std::size_t>(victim))) + " during " + call +
                (killed > 0 ? "" : ": nothing to kill")];
    }
    // Bob fills the GPU, so that a restore now would lose alice's program.
    void letBobCompute() {
        const UserProcess shell(bob);
        const std::string id = activate(*asBob, shell);
        ASSERT_TRUE(attach(*asBob, id, 0).ok()) << "the GPU is not free";
        const auto program = compute(bob, id, "bobs", {"--memory", "900"});
        EXPECT_EQ(resume(*asAlice, alices->id).error, error::deviceUnavailable);
        EXPECT_TRUE(program->endsWell());
        machine.forgetAllocations();
        ASSERT_TRUE(asBob->environment(id, "Deactivate").ok());
    }
    void cycle() {
        const bool parks = stateOf(alices->id) == "active";
        alices->program->forgetCalls();
        delayCalls();
        const auto call = asAlice->start(environmentPath(alices->id), environmentInterface,
                                         parks ? "Park" : "Resume", "a{sv}", 0);
        asAlice->ping();
        awaitMoment(parks);
        killSomebody();
        asAlice->finish(*call);
        waitUntil([&] { return isSettled(); }, "the end of the transaction");
        const std::string state = stateOf(alices->id);
        ++kills[std::string(parks ? "park" : "resume") + " ended " + state];
        if (state == "active") {
            ASSERT_TRUE(alices->program->goesOn()) << "it is locked or lost";
            EXPECT_EQ(devicesOf(alices->id), "0");
        } else {
            EXPECT_EQ(machine.allocations(), 0);
            EXPECT_EQ(devicesOf(alices->id), "");
            if (pick(4) == 0)
                letBobCompute();
        }
    }

    std::mt19937 random;
    std::unique_ptr<Holding> alices;
    std::map<std::string, int> kills;
};

TEST_F(ParkingKills, LoseNothingAndLockNothing) {
    const std::uint64_t seed = variable("GENV_PARKING_SEED", 1);
    const std::uint64_t cycles = variable("GENV_PARKING_CYCLES", 6);
    SCOPED_TRACE("GENV_PARKING_SEED=" + std::to_string(seed));
    random.seed(static_cast<std::mt19937::result_type>(seed));
    configure("[Parking]\nLockTimeout=1s\n");
    alices = haveHolding();
    const auto began = Clock::now();
    auto slowest = Clock::duration::zero();
    int slow = 0;
    for (std::uint64_t i = 0; i < cycles && !HasFailure(); ++i) {
        SCOPED_TRACE("cycle " + std::to_string(i));
        const auto start = Clock::now();
        cycle();
        const auto took = Clock::now() - start;
        slowest = std::max(slowest, took);
        slow += took > std::chrono::seconds{5} ? 1 : 0;
    }
    const auto seconds = [](auto time) { return std::chrono::duration<double>(time).count(); };
    std::cout << cycles << " cycles in " << seconds(Clock::now() - began) << " s, the slowest "
              << seconds(slowest) << " s, and " << slow << " over 5 s\n";
    for (const auto& [what, count] : kills)
        std::cout << count << " " << what << '\n';
    machine.inject("alices", nlohmann::json::object());
    if (stateOf(alices->id) == "parked") {
        ASSERT_TRUE(resume(*asAlice, alices->id).ok());
    }
    expectGoesOn(*alices);
}

} // namespace
} // namespace genv::tests
