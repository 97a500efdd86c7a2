// SPDX-License-Identifier: LGPL-2.1-or-later
// Environments are parked and resumed at random, while processes start and end, calls fail, other
// memory comes and goes, and the service is killed. No device has two holders, no process is
// restored without room or twice, and in the end none is locked.
#include "core/state/state_schema.hpp"
#include "tests/core/parking_fixture.hpp"
#include "tests/core/seeds.hpp"

#include <random>

namespace genv::tests {
namespace {

using core::CheckpointState;
using core::ParkingCall;
using core::ParkingFault;
using core::ParkingStep;

class RandomParking : public ParkingTest, public ::testing::WithParamInterface<unsigned> {
  protected:
    unsigned below(unsigned limit) {
        return std::uniform_int_distribution<unsigned>(0, limit - 1)(random);
    }
    template <typename Container>
    auto& anyOf(Container& container) {
        auto chosen = container.begin();
        std::advance(chosen, below(static_cast<unsigned>(container.size())));
        return *chosen;
    }
    std::vector<std::string> ids() {
        std::vector<std::string> found;
        for (const auto& [sequence, environment] : ledger().environments())
            found.push_back(environment.id);
        return found;
    }

    void start() {
        for (core::DeviceIndex device = 0; device < count; ++device) {
            if (!ledger().device(device).isFree())
                continue;
            const core::Pid shell = nextPid++;
            holding(std::to_string(shell), below(2) == 0 ? alice : bob, {device});
            shells.push_back(shell);
            return;
        }
    }
    void work() {
        for (const std::string& id : ids()) {
            const core::EnvironmentRecord& environment = ledger().get(id);
            if (environment.attachments.empty() || below(2) == 0)
                continue;
            const core::DeviceIndex device = environment.deviceIndices().front();
            const core::Bytes size = gigabytes(1 + below(4));
            if (driver.freeOn("GPU-" + std::to_string(device)) >= size)
                computing(nextPid++, id, device, size);
        }
    }
    void tryToPark() {
        const auto all = ids();
        if (all.empty())
            return;
        try {
            park(all[below(static_cast<unsigned>(all.size()))]);
        } catch (const core::Error&) {
            // it is parked, or holds nothing
        }
    }
    void tryToResume() {
        for (const std::string& id : ids()) {
            if (!ledger().get(id).isAt(ParkingStep::Parked) || below(2) == 0)
                continue;
            try {
                resume(id);
            } catch (const core::Error&) {
                // another environment holds its device
            }
        }
    }
    void endOne() {
        if (!driver.living.empty() && below(2) == 0) {
            end(anyOf(driver.living).first);
        } else if (!shells.empty()) {
            const auto shell = shells.begin() + below(static_cast<unsigned>(shells.size()));
            const core::Pid pid = *shell;
            shells.erase(shell);
            processes.exit(pid);
        }
    }
    // Ends the processes of environments that were ended, those that are in none any more, and
    // those that began while others moved, and may have taken their room.
    void endWhatWasToldToEnd() {
        const auto all = driver.living;
        for (const auto& [pid, process] : all) {
            const core::EnvironmentRecord* environment = ledger().find(process.environment);
            if (environment == nullptr || environment->isAt(ParkingStep::Ending) ||
                (environment->parking &&
                 environment->parking->find(core::ProcessIdentity{pid, 7}) == nullptr))
                end(pid);
        }
    }
    void spoil() {
        if (driver.living.empty())
            return;
        constexpr std::array calls{ParkingCall::Lock, ParkingCall::Checkpoint, ParkingCall::Unlock,
                                   ParkingCall::State};
        constexpr std::array faults{ParkingFault::NotReady, ParkingFault::Deadline,
                                    ParkingFault::Helper, ParkingFault::NotSupported,
                                    ParkingFault::Driver};
        driver.faults[{anyOf(driver.living).first, anyOf(calls)}] = {anyOf(faults), 1};
    }
    void step() {
        switch (below(12)) {
        case 0:
            return start();
        case 1:
            return work();
        case 2:
            return tryToPark();
        case 3:
            return tryToResume();
        case 4:
            return endOne();
        case 5:
            return spoil();
        case 6:
            driver.foreign.clear();
            if (below(2) == 0)
                driver.foreign["GPU-0"] = gigabytes(below(10));
            return;
        case 7:
            if (below(4) == 0)
                kill(below(2) == 0);
            return;
        case 8: {
            const std::chrono::milliseconds time = std::chrono::seconds{1 + below(3)};
            clock.pass(time);
            service->scheduler.pass(time);
            return;
        }
        case 9:
            if (const auto all = ids(); !all.empty() && below(6) == 0)
                ledger().deactivate(all.front(),
                                    below(2) == 0 ? root : ledger().get(all.front()).uid);
            return;
        default:
            answerQuestions();
            if (!driver.pending.empty())
                driver.answerOne(below(static_cast<unsigned>(driver.pending.size())));
        }
    }
    void expectConsistent() {
        expectNothingTwice(ledger());
        for (const auto& [pid, process] : driver.living) {
            EXPECT_FALSE(process.isLost && !driver.foreign.contains(process.uses[0].device))
                << "process " << pid << " was restored without room";
            EXPECT_EQ(process.overlaps, 0) << "process " << pid;
        }
        for (const auto& [sequence, environment] : ledger().environments()) {
            if (!environment.isAt(ParkingStep::Parked))
                continue;
            for (const core::ParkedProcess& process : environment.parking->processes) {
                if (driver.living.contains(process.identity.pid)) {
                    EXPECT_EQ(stateOf(process.identity.pid), CheckpointState::Checkpointed);
                }
            }
        }
    }

    std::mt19937 random{GetParam()};
    core::Pid nextPid = 100;
    std::vector<core::Pid> shells;
};

TEST_P(RandomParking, LocksNobodyInTheEndAndGivesNothingTwice) {
    for (int i = 0; i < 400 && !HasFailure(); ++i) {
        step();
        expectConsistent();
    }
    driver.foreign.clear();
    driver.faults.clear();
    settle();
    endWhatWasToldToEnd();
    settle();
    for (int i = 0; i < 8; ++i)
        pass(settings.lockTimeout + core::helperTime + std::chrono::seconds{1});
    EXPECT_TRUE(driver.lockedOnes().empty());
    for (const auto& [sequence, environment] : ledger().environments())
        EXPECT_TRUE(!environment.parking || environment.isAt(ParkingStep::Parked))
            << core::encodeState(environment);
    for (const auto& [pid, process] : driver.living) {
        const core::EnvironmentRecord* environment = ledger().environmentOfParked({pid, 7});
        EXPECT_EQ(process.state == CheckpointState::Checkpointed && !process.isLost,
                  environment != nullptr)
            << "process " << pid;
    }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomParking, seedsTo(60));

} // namespace
} // namespace genv::tests
