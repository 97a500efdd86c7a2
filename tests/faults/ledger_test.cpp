// SPDX-License-Identifier: LGPL-2.1-or-later
// The store fails at any of its calls, over random sequences of requests and facts; and documents
// are damaged at every byte. The model is a ledger whose store never failed. It gets the same
// input, except for the requests that the other ledger refused.
#include "core/base/error.hpp"
#include "core/ledger/recovery.hpp"
#include "core/state/state_schema.hpp"
#include "tests/core/ledger_fixture.hpp"

#include <functional>
#include <random>

namespace genv::tests {
namespace {

constexpr core::DeviceIndex devices = 4;

/// A ledger with its stand-ins, and one random step at a time.
class World {
  public:
    World() {
        processes.onExit(
            [this](const core::ProcessIdentity& process) { ledger.processExited(process); });
        ledger.observed(gpus(devices));
    }

    /// Does the step with this number. Returns false if the store refused it.
    bool step(std::uint32_t number) {
        prepare(number);
        const std::uint32_t who = (number >> 8U) % 6;
        const std::string id = std::to_string(10 + who);
        const core::Uid uid = alice + who % 3;
        const std::uint32_t amount = (number >> 12U) % 4;
        try {
            act(number % 11, id, uid, amount);
        } catch (const core::Error& error) {
            return error.code() != core::ErrorCode::StorageFailed;
        }
        return true;
    }

    /// The part of a step that happens even if it is refused: time passes, and the calling process
    /// exists.
    void prepare(std::uint32_t number) {
        clock.pass(std::chrono::seconds{1});
        const std::uint32_t who = (number >> 8U) % 6;
        const core::Pid pid = 10 + who;
        if (number % 11 < 2 && !processes.look(pid))
            processes.add(pid, alice + who % 3, 7 + exits_[pid]);
    }

    /// Returns the state as text. Ranks replace the sequence numbers, because a refused request
    /// uses numbers up.
    std::string describe() const { return describe(ledger); }
    static std::string describe(const core::LedgerView& ledger) {
        std::string text;
        for (const auto& [sequence, environment] : ledger.environments()) {
            core::EnvironmentRecord ranked = environment;
            ranked.sequence = 0;
            std::uint64_t rank = 0;
            for (core::DeviceAttachment& attachment : ranked.attachments)
                attachment.sequence = ++rank;
            for (core::HeldLock& lock : ranked.locks)
                lock.number = ++rank;
            for (core::Wait& wait : ranked.waits)
                wait.ticket = ++rank;
            text += core::encodeState(ranked) + "\n";
        }
        for (const auto& [index, device] : ledger.devices().byIndex()) {
            text += std::to_string(index) + ":";
            for (const core::Holder& holder : device.holders)
                (text += ' ') += holder.environment;
            text += "\n";
        }
        return text;
    }

    /// Returns the state of a service that starts now with the documents.
    std::string describeRestarted() {
        FakeStore copy;
        copy.documents = store.documents;
        core::EventHub hub;
        core::Ledger again(copy, clock, hub);
        const core::RecoveryReport report = core::recover(again, copy, processes, clock.bootNow());
        EXPECT_EQ(report.setAside, 0U);
        again.observed(gpus(devices));
        expectNothingTwice(again);
        return describe(again);
    }
    FakeClock clock;
    FakeStore store;
    FakeProcesses processes;
    core::EventHub events;
    core::Ledger ledger{store, clock, events};

  private:
    void act(std::uint32_t kind, const std::string& id, core::Uid uid, std::uint32_t amount) {
        const auto pid = static_cast<core::Pid>(std::stoul(id));
        const auto plan = [&] {
            return core::place({core::CountWanted{amount}, {}, {}, false}, ledger.devices(),
                               ledger.find(id));
        };
        switch (kind) {
        case 0:
        case 1:
            ledger.activate({id, uid, "user", {}, {core::adopt(processes.pin(pid), uid, uid)}, {}},
                            amount > 0 ? std::optional(plan()) : std::nullopt, uid);
            break;
        case 2:
        case 3:
        case 4:
            ledger.attach(id, plan(), uid);
            break;
        case 5:
            ledger.detach(id, {}, uid);
            break;
        case 6:
            ledger.configure(id, {std::optional<std::string>(std::to_string(amount)), {}, {}}, uid);
            break;
        case 7: // all its holders at once
            ledger.detachDevice(amount, std::nullopt, root);
            break;
        case 8:
            ledger.deactivate(id, uid);
            break;
        case 9: // a fact
            if (processes.look(pid)) {
                ++exits_[pid];
                processes.exit(pid);
            }
            break;
        default: // a fact
            ledger.takeAway(id, "GPU-" + std::to_string(amount),
                            core::Cause::fact(core::Reason::rule("env-memory")));
        }
    }

    std::map<core::Pid, std::uint64_t> exits_;
};

std::vector<std::uint32_t> randomSteps(std::uint32_t seed, std::size_t count) {
    std::mt19937 random(seed);
    std::vector<std::uint32_t> steps(count);
    for (std::uint32_t& step : steps)
        step = static_cast<std::uint32_t>(random());
    return steps;
}

// One write fails, or it and the following ones, at each point of a sequence.
TEST(StoreFaults, WhereverTheyAreTheLedgerIsTheModelAndSoIsTheNextOne) {
    int refused = 0;
    for (std::uint32_t seed = 1; seed <= 2; ++seed) {
        const auto steps = randomSteps(seed, 60);
        for (const int failures : {1, 4, 1 << 30}) {
            bool reached = true;
            for (int point = 0; reached; ++point) {
                SCOPED_TRACE("seed " + std::to_string(seed) + ", write " + std::to_string(point) +
                             ", " + std::to_string(failures) + " failures");
                World world;
                World model;
                world.store.writesUntilFailure = point;
                world.store.maxFailures = failures;
                for (const std::uint32_t step : steps) {
                    const std::string before = world.describe();
                    if (world.step(step)) {
                        model.step(step);
                    } else {
                        ++refused;
                        EXPECT_EQ(world.describe(), before) << "it was refused";
                        model.prepare(step);
                    }
                    ASSERT_EQ(world.describe(), model.describe());
                    expectNothingTwice(world.ledger);
                    world.describeRestarted(); // the state after a crash at this moment
                }
                reached = world.store.failures > 0;
                world.store.writesUntilFailure = -1;
                EXPECT_TRUE(world.ledger.retryWrites());
                EXPECT_EQ(world.describeRestarted(), model.describe());
            }
        }
    }
    EXPECT_GT(refused, 100);
}

// -- damaged documents

class DamagedDocuments : public LedgerTest {
  protected:
    DamagedDocuments() {
        haveGpus(2);
        activate("20", bob);
        attachIndices("20", {1});
        core::NewEnvironment environment = newEnvironment("10", alice, 10, {"n\xc3\xa4me", 2, {}});
        environment.lifetime = std::chrono::hours{2};
        ledger.activate(std::move(environment), std::nullopt, alice);
        attachIndices("10", {0});
        ledger.lock("10", ledger.newTicket());
        const core::Placement expected = planned("10", {core::CountWanted{2}, {}, {}, true});
        const core::AttachRequest request{core::CountWanted{2}, {}, {}, false};
        ledger.attach("10", core::PlannedWait{request, expected}, alice);
    }

    /// Starts with this text as alice's document. Returns whether it was accepted.
    bool startsWith(const std::string& text) {
        FakeStore damaged;
        damaged.documents = store.documents;
        damaged.documents["10"] = text;
        core::EventHub hub;
        core::Ledger again(damaged, clock, hub);
        const auto report = core::recover(again, damaged, processes, clock.bootNow());
        again.observed(gpus(2));
        expectNothingTwice(again);
        for (const auto& [pid, uid] : {std::pair{10U, alice}, std::pair{20U, bob}})
            EXPECT_TRUE(processes.look(pid)) << "nobody is ended for it";
        const core::EnvironmentRecord* bobs = again.find("20");
        EXPECT_TRUE(bobs != nullptr && bobs->uid == bob);
        if (const core::EnvironmentRecord* taken = again.find("10"); taken != nullptr)
            taken_ = core::decodeState(core::encodeState(*taken)) == *taken;
        EXPECT_TRUE(taken_);
        return report.setAside == 0;
    }

  private:
    bool taken_ = true; ///< whether accepted documents are written as they were read
};

TEST_F(DamagedDocuments, CutAtAnyByteAreSetAside) {
    const std::string good = store.documents.at("10");
    EXPECT_TRUE(startsWith(good));
    for (std::size_t length = 0; length < good.size(); ++length)
        EXPECT_FALSE(startsWith(good.substr(0, length))) << good.substr(0, length);
}

TEST_F(DamagedDocuments, WithAnyBitFlippedOrByteReplacedDoNoHarm) {
    const std::string good = store.documents.at("10");
    int taken = 0;
    int aside = 0;
    for (std::size_t at = 0; at < good.size(); ++at) {
        for (unsigned bit = 0; bit < 8; ++bit) {
            std::string text = good;
            text[at] = static_cast<char>(static_cast<unsigned char>(text[at]) ^ (1U << bit));
            ++(startsWith(text) ? taken : aside);
        }
        for (const char byte : {'\0', '9', '-', '"', '{', '\xff'}) {
            std::string text = good;
            text[at] = byte;
            ++(startsWith(text) ? taken : aside);
        }
    }
    EXPECT_GT(aside, taken);
    std::printf("%d damaged documents were set aside, %d still made sense\n", aside, taken);
}

} // namespace
} // namespace genv::tests
