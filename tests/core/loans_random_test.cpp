// SPDX-License-Identifier: LGPL-2.1-or-later
// Environments lend and take GPUs at random, while calls of the driver fail, requests are canceled,
// and the service is killed. No device has two holders. An environment is parked only if its taker
// can then start. No device on loan is left to its holder while a request could take it. In the end
// every request was served, and whoever was parked went on.
#include "core/state/state_schema.hpp"
#include "tests/core/loans_fixture.hpp"
#include "tests/core/seeds.hpp"

#include <random>
#include <set>

namespace genv::tests {
namespace {

using core::ParkingCall;
using core::ParkingFault;
using core::ParkingStep;
using core::Preemptible;
using std::chrono::minutes;
using std::chrono::seconds;

class RandomLoans : public LoansTest, public ::testing::WithParamInterface<unsigned> {
  protected:
    RandomLoans() {
        count = 4;
        begin();
        if (GetParam() % 3 == 0)
            terms.order.order = core::QueueOrder::Fair;
        if (GetParam() % 4 == 0)
            settings.turn = minutes{2};
    }
    unsigned below(unsigned limit) {
        return std::uniform_int_distribution<unsigned>(0, limit - 1)(random);
    }
    std::vector<std::string> ids() {
        std::vector<std::string> found;
        for (const auto& [sequence, environment] : ledger().environments())
            found.push_back(environment.id);
        return found;
    }
    std::optional<std::string> anyOf(const std::vector<std::string>& all) {
        return all.empty() ? std::nullopt
                           : std::optional(all[below(static_cast<unsigned>(all.size()))]);
    }

    void request(Preemptible preemptible) {
        if (ids().size() > 10)
            return;
        const std::string id = std::to_string(nextPid++);
        starting(id, 1001 + below(3), preemptible);
        const bool takesOnly = preemptible == Preemptible::No && below(4) == 0;
        const core::AttachRequest some{core::CountWanted{1 + below(3)}, {}, {}, false};
        const core::AttachRequest named{core::IndicesWanted{{below(4)}}, {}, {}, false};
        ask(id, below(3) == 0 ? named : some, takesOnly);
    }
    // Everybody computes on each of their GPUs.
    void work() {
        for (const std::string& id : ids()) {
            const core::EnvironmentRecord& environment = ledger().get(id);
            if (environment.parking)
                continue;
            core::Pid pid = pidOf(id);
            for (const core::DeviceIndex device : environment.deviceIndices()) {
                if (!driver.living.contains(pid) &&
                    driver.freeOn("GPU-" + std::to_string(device)) >= gigabytes(4))
                    computing(pid, id, device, gigabytes(1 + below(4)));
                ++pid;
            }
        }
    }
    void finish(const std::string& id) {
        const core::Pid first = pidOf(id);
        for (core::Pid pid = first; pid < first + 4; ++pid) {
            if (driver.living.contains(pid))
                end(pid);
        }
        const auto shell = static_cast<core::Pid>(std::stoul(id));
        if (ended.insert(shell).second)
            processes.exit(shell);
    }
    void cancelOne() {
        std::vector<core::Queue::Ticket> tickets;
        for (const auto& [ticket, id] : ledger().waits()) {
            if (!ledger().wait(ticket).resumes)
                tickets.push_back(ticket);
        }
        if (!tickets.empty())
            service->queue.cancel(tickets[below(static_cast<unsigned>(tickets.size()))]);
    }
    void spoil() {
        if (driver.living.empty())
            return;
        auto process = driver.living.begin();
        std::advance(process, below(static_cast<unsigned>(driver.living.size())));
        constexpr std::array calls{ParkingCall::Lock, ParkingCall::Checkpoint};
        constexpr std::array faults{ParkingFault::NotReady, ParkingFault::NotSupported};
        driver.faults[{process->first, calls[below(2)]}] = {faults[below(2)], 1};
    }
    void killOnce() {
        kill(below(2) == 0);
        for (const auto& [ticket, id] : ledger().waits()) {
            if (!ledger().wait(ticket).resumes && !ledger().wait(ticket).takesOnly)
                await(id, ticket);
        }
        seen = 0;
    }
    void step() {
        switch (below(14)) {
        case 0:
        case 1:
            return request(below(4) == 0 ? Preemptible::End : Preemptible::Park);
        case 2:
        case 3:
            return request(Preemptible::No);
        case 4:
            return work();
        case 5:
            if (const auto id = anyOf(ids()); id && below(2) == 0)
                finish(*id);
            return;
        case 6:
            return below(3) == 0 ? cancelOne() : void();
        case 7:
            return spoil();
        case 8:
            return below(5) == 0 ? killOnce() : void();
        case 9: {
            const std::chrono::milliseconds time = seconds{1 + below(50)};
            clock.pass(time);
            service->scheduler.pass(time);
            return;
        }
        default:
            answerQuestions();
            if (!driver.pending.empty())
                driver.answerOne(below(static_cast<unsigned>(driver.pending.size())));
        }
    }

    // Ends the processes of environments that were ended, as the service's terminator does.
    void endWhatWasToldToEnd() {
        const auto all = driver.living;
        for (const auto& [pid, process] : all) {
            const core::EnvironmentRecord* environment = ledger().find(process.environment);
            if (environment == nullptr || environment->isAt(ParkingStep::Ending))
                end(pid);
        }
    }
    void expectConsistent() {
        expectNothingTwice(ledger());
        std::set<core::DeviceUuid> reserved;
        for (const auto& [ticket, id] : ledger().waits()) {
            const core::Wait& wait = ledger().wait(ticket);
            if (!wait.taking)
                continue;
            for (const core::DeviceUuid& uuid : wait.taking->devices) {
                EXPECT_TRUE(reserved.insert(uuid).second) << uuid << " is reserved twice";
                for (const core::Holder& holder : ledger().devices().findUuid(uuid)->holders)
                    EXPECT_TRUE(std::ranges::find(wait.taking->victims, holder.environment) !=
                                wait.taking->victims.end())
                        << uuid << " was given to environment " << holder.environment;
            }
        }
        for (; seen < service->emitted.size(); ++seen) {
            if (const auto* began = std::get_if<core::TakingBegan>(&service->emitted[seen]))
                expectPlanned(*began);
        }
        for (const auto& [pid, process] : driver.living)
            EXPECT_FALSE(process.isLost) << "process " << pid << " was restored without room";
    }
    // Expects that a taking parks nobody in vain: with its victims, the request can start.
    void expectPlanned(const core::TakingBegan& began) {
        ++takings;
        EXPECT_FALSE(began.victims.empty());
        std::set<core::DeviceUuid> given; // all that becomes free
        for (const core::TakingVictim& victim : began.victims) {
            EXPECT_NE(victim.environment, began.environment);
            for (const core::DeviceFacts& device : victim.devices)
                given.insert(device.uuid);
        }
        if (!ledger().waits().contains(began.ticket) || !ledger().wait(began.ticket).taking)
            return; // it is over
        const core::Wait& wait = ledger().wait(began.ticket);
        EXPECT_EQ(wait.taking->devices.size(),
                  core::missing(wait.request, ledger().get(began.environment)));
        for (const core::DeviceUuid& uuid : wait.taking->devices)
            EXPECT_TRUE(given.contains(uuid) || ledger().devices().findUuid(uuid)->holders.empty());
    }
    // Expects that the request whose turn it is has a taking, or that there is no plan for it.
    void expectNoneIdles() {
        if (terms.order.order == core::QueueOrder::Fair)
            return; // whose turn it is depends on the use of the users
        for (const auto& [ticket, id] : ledger().waits()) {
            const core::Wait& wait = ledger().wait(ticket);
            const core::EnvironmentRecord& taker = ledger().get(id);
            const auto* wanted = std::get_if<core::CountWanted>(&wait.request.wanted);
            if (taker.configuration.preemptible != Preemptible::No || wanted == nullptr)
                return; // it may not be passed any more
            std::size_t usable = 0;
            for (const auto& entry : ledger().devices().byIndex()) {
                const auto& device = entry.second; // Clang 14 captures no binding
                const bool isLent = device.holders.size() == 1 && [&] {
                    const auto& holder = ledger().get(device.holders[0].environment);
                    return holder.configuration.preemptible != Preemptible::No && !holder.parking &&
                           holder.waits.empty();
                }();
                usable += device.isFree() || isLent ? 1U : 0U;
            }
            EXPECT_LT(usable, wanted->count) << core::encodeState(taker);
            return;
        }
    }
    // Nothing is asked any more, and nobody rests.
    void becomeQuiet() {
        driver.faults.clear();
        for (int i = 0; i < 4; ++i) {
            settle();
            endWhatWasToldToEnd();
            pass(minutes{1} + seconds{1});
        }
        for (int i = 0; i < 8; ++i) {
            endWhatWasToldToEnd();
            pass(core::maxBackoff / 4);
        }
        settle();
    }

    std::mt19937 random{GetParam()};
    core::Pid nextPid = 100;
    std::size_t seen = 0; ///< of the emitted events
    int takings = 0;
    std::set<core::Pid> ended; ///< shells
};

TEST_P(RandomLoans, ServeEverybodyInTheEnd) {
    lending("99", 1001, {0, 1, 2, 3}, gigabytes(2));
    for (int i = 0; i < 300 && !HasFailure(); ++i) {
        step();
        expectConsistent();
        if (i % 60 == 59) {
            becomeQuiet();
            expectConsistent();
            expectNoneIdles();
            EXPECT_TRUE(driver.lockedOnes().empty());
        }
    }
    becomeQuiet();
    // One after the other is done; those who were parked and those who wait have their turn.
    for (int i = 0; i < 60 && !ids().empty() && !HasFailure(); ++i) {
        expectConsistent();
        for (const std::string& id : ids()) {
            const core::EnvironmentRecord& environment = ledger().get(id);
            if (environment.parking || !environment.waits.empty())
                continue;
            finish(id);
            break;
        }
        settle();
        endWhatWasToldToEnd();
        pass(core::restAfterReturn + seconds{1});
    }
    EXPECT_EQ(ids(), std::vector<std::string>{}) << core::encodeState(ledger().get(ids().at(0)));
    EXPECT_TRUE(driver.living.empty());
    EXPECT_GT(takings, 0);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomLoans, seedsTo(40));

} // namespace
} // namespace genv::tests
