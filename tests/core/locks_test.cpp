// SPDX-License-Identifier: LGPL-2.1-or-later
// A lock is held by one at a time, given in the order of asking, and released whatever happens to
// its holder.
#include "core/caps.hpp"
#include "core/locks.hpp"
#include "core/recovery.hpp"
#include "tests/core/ledger_fixture.hpp"

#include <map>
#include <set>

namespace genv::tests {
namespace {

class FakeLockDescriptors : public core::LockDescriptors {
  public:
    std::unique_ptr<core::LockEnd> open(std::uint64_t number) override {
        if (isExhausted)
            core::fail(core::ErrorCode::LimitsExceeded, "no descriptor is left");
        opened.insert(number);
        return std::make_unique<End>();
    }
    void close(std::uint64_t number) override { opened.erase(number); }
    std::set<std::uint64_t> found() override { return opened; }
    void onRelease(std::function<void(std::uint64_t)> listener) override {
        listener_ = std::move(listener);
    }
    /// The client's end is closed, however that came.
    void release(std::uint64_t number) { listener_(number); }

    std::set<std::uint64_t> opened;
    bool isExhausted = false;

  private:
    struct End : core::LockEnd {
        [[nodiscard]] int descriptor() const override { return 3; }
    };
    std::function<void(std::uint64_t)> listener_;
};

class Locking : public LedgerTest {
  protected:
    Locking() {
        events.subscribe([this](const core::Event& event) { locks.onEvent(event); });
        haveGpus(3);
    }
    // Environments that share devices.
    void share(const std::string& id, const std::vector<core::DeviceIndex>& indices) {
        activate(id, alice);
        attachIndices(id, indices, true);
    }
    core::Locks::Ticket ask(const std::string& name, const std::string& id) {
        const auto ticket = locks.request(
            id, alice, [this, name](const core::LockEnd* lock, const core::Error* refusal) {
                outcome[name] = lock != nullptr ? "locked" : refusal->what();
            });
        scheduler.turn();
        return ticket;
    }
    void release(const std::string& id) {
        descriptors.release(ledger.get(id).locks.at(0).number);
        scheduler.turn();
    }
    [[nodiscard]] std::string holderOf(core::DeviceIndex index) const {
        const core::Device& device = ledger.device(index);
        for (const core::Claim& claim : device.claims) {
            if (ledger.get(claim.environment).hasLocked(device.facts.uuid))
                return claim.environment;
        }
        return "";
    }

    FakeScheduler scheduler;
    SilentLog log;
    FakeLockDescriptors descriptors;
    core::Locks locks{ledger, descriptors, scheduler, log};
    std::map<std::string, std::string> outcome;
};

TEST_F(Locking, IsHeldByOneAtATimeInTheOrderOfAsking) {
    for (const char* id : {"10", "20", "30"})
        share(id, {0});
    ask("a", "10");
    ask("b", "20");
    ask("c", "30");
    EXPECT_EQ(outcome, (std::map<std::string, std::string>{{"a", "locked"}}));
    EXPECT_EQ(holderOf(0), "10");
    release("10");
    EXPECT_EQ(holderOf(0), "20");
    EXPECT_FALSE(outcome.contains("c"));
    release("20");
    EXPECT_EQ(holderOf(0), "30");
    release("30");
    EXPECT_EQ(holderOf(0), "");
    EXPECT_TRUE(descriptors.opened.empty());
}

TEST_F(Locking, ExcludesTwoOfOneEnvironmentToo) {
    share("10", {0});
    ask("a", "10");
    ask("b", "10");
    EXPECT_FALSE(outcome.contains("b"));
    release("10");
    EXPECT_EQ(outcome["b"], "locked");
}

TEST_F(Locking, LetsNobodyPassAnEarlierOne) {
    share("10", {0});
    share("20", {0, 1});
    share("30", {1});
    share("40", {2});
    ask("a", "10");
    ask("b", "20"); // waits for device 0, and wants 1
    ask("c", "30");
    ask("d", "40");
    EXPECT_FALSE(outcome.contains("c")) << "device 1 is free, but wanted by an earlier one";
    EXPECT_EQ(outcome["d"], "locked");
    release("10");
    EXPECT_EQ(holderOf(0), "20");
    EXPECT_EQ(holderOf(1), "20");
    EXPECT_FALSE(outcome.contains("c"));
}

TEST_F(Locking, IsOnWhatIsAttachedWhenItIsGranted) {
    share("10", {0});
    share("20", {0});
    ask("a", "10");
    ask("b", "20");
    attachIndices("20", {1}, true);
    release("10");
    EXPECT_EQ(holderOf(1), "20");
    attachIndices("20", {2}, true);
    EXPECT_EQ(holderOf(2), "") << "the set is fixed then";
}

TEST_F(Locking, LeavesWithTheDevice) {
    share("10", {0, 1});
    share("20", {0});
    ask("a", "10");
    ask("b", "20");
    ledger.detach("10", {0}, alice);
    scheduler.turn();
    EXPECT_EQ(holderOf(0), "20");
    EXPECT_EQ(holderOf(1), "10");
}

TEST_F(Locking, EndsWithTheEnvironment) {
    share("10", {0});
    share("20", {0});
    ask("a", "10");
    ask("b", "20");
    processes.exit(10);
    scheduler.turn();
    EXPECT_EQ(holderOf(0), "20");
}

TEST_F(Locking, TellsThoseWhoseEnvironmentEnds) {
    share("10", {0});
    share("20", {0});
    ask("a", "10");
    ask("b", "20");
    processes.exit(20);
    scheduler.turn();
    EXPECT_EQ(outcome["b"], "environment 20 ended while it waited for the lock");
}

TEST_F(Locking, ForgetsWhoCancels) {
    for (const char* id : {"10", "20", "30"})
        share(id, {0});
    ask("a", "10");
    const auto ticket = ask("b", "20");
    ask("c", "30");
    locks.cancel(ticket);
    release("10");
    EXPECT_FALSE(outcome.contains("b"));
    EXPECT_EQ(outcome["c"], "locked");
}

TEST_F(Locking, ServesTheNextWhenAWaiterInBetweenCancels) {
    share("10", {0});
    share("20", {0, 1});
    share("30", {1});
    ask("a", "10");
    const auto ticket = ask("b", "20");
    ask("c", "30");
    locks.cancel(ticket);
    scheduler.turn();
    EXPECT_EQ(outcome["c"], "locked");
}

TEST_F(Locking, RefusesWhatCannotBeLocked) {
    activate("10", alice);
    EXPECT_THROW(ask("a", "10"), core::Error);
    EXPECT_THROW(ask("a", "99"), core::Error);
}

TEST_F(Locking, CountsHowOftenAUserWaits) {
    share("10", {0});
    ask("first", "10");
    for (std::size_t i = 0; i < core::caps::waitsPerUser; ++i)
        ask("waiting", "10");
    EXPECT_THROW(ask("one too many", "10"), core::Error);
    EXPECT_NO_THROW(locks.request("10", bob, [](const auto*, const auto*) {}));
}

TEST_F(Locking, IsNotHeldWithoutADescriptor) {
    share("10", {0});
    descriptors.isExhausted = true;
    ask("a", "10");
    EXPECT_EQ(outcome["a"], "no descriptor is left");
    EXPECT_EQ(holderOf(0), "");
}

TEST_F(Locking, TellsWhoHoldsTheLock) {
    share("10", {0, 2});
    told.clear();
    ask("a", "10");
    std::set<core::DeviceIndex> changed;
    for (const auto& change : toldOf<core::DeviceChanged>()) {
        EXPECT_EQ(change.field, core::DeviceField::LockedBy);
        changed.insert(change.index);
    }
    EXPECT_EQ(changed, (std::set<core::DeviceIndex>{0, 2}));
}

TEST_F(Locking, ComesBackAfterARestartWhereItsDescriptorWasKept) {
    share("10", {0});
    share("20", {1});
    ask("a", "10");
    ask("b", "20");
    descriptors.opened.erase(ledger.get("20").locks.at(0).number); // released meanwhile
    descriptors.opened.insert(4711);                               // nobody's
    core::EventHub hub;
    core::Ledger again(store, clock, hub);
    core::recover(again, store, processes, clock.bootNow());
    core::Locks locksAgain(again, descriptors, scheduler, log);
    locksAgain.recover();
    EXPECT_EQ(again.get("10").locks, ledger.get("10").locks);
    EXPECT_TRUE(again.get("20").locks.empty());
    EXPECT_EQ(descriptors.opened, (std::set<std::uint64_t>{again.get("10").locks.at(0).number}));
    descriptors.release(again.get("10").locks.at(0).number);
    EXPECT_TRUE(again.get("10").locks.empty());
}

} // namespace
} // namespace genv::tests
