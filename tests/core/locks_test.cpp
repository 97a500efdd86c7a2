// SPDX-License-Identifier: LGPL-2.1-or-later
// A lock has one holder at a time, is granted in the order of the requests, and is released however
// its holder ends.
#include "core/environments/locks.hpp"
#include "core/ledger/recovery.hpp"
#include "core/settings/caps.hpp"
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
        if (onOpen)
            onOpen(number);
        return std::make_unique<End>();
    }
    void close(std::uint64_t number) override { opened.erase(number); }
    std::set<std::uint64_t> found() override { return opened; }
    [[nodiscard]] bool isReleased(std::uint64_t number) const override {
        return hungUp.contains(number);
    }
    void onRelease(std::function<void(std::uint64_t)> listener) override {
        listener_ = std::move(listener);
    }
    /// Reports that the client's end was closed, for whatever reason.
    void release(std::uint64_t number) { listener_(number); }

    std::set<std::uint64_t> opened;
    std::set<std::uint64_t> hungUp; ///< among the descriptors that are open here
    bool isExhausted = false;
    std::function<void(std::uint64_t)> onOpen;

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
    // Makes an environment that shares devices.
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
        const core::TableDevice& device = ledger.device(index);
        for (const core::Holder& holder : device.holders) {
            if (ledger.get(holder.environment).hasLocked(device.facts.uuid))
                return holder.environment;
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
    ask("b", "20"); // waits for device 0, and requests 1
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
    emitted.clear();
    ask("a", "10");
    std::set<core::DeviceIndex> changed;
    for (const auto& change : emittedOf<core::DeviceChanged>()) {
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
    descriptors.opened.insert(4711);                               // belongs to no lock
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

TEST_F(Locking, AsksNothingOfAnEnvironmentThatCameInThePlaceOfTheOneThatAsked) {
    for (const char* id : {"10", "20"})
        share(id, {0});
    ask("a", "10");
    ask("b", "20");
    ledger.deactivate("20", alice);
    share("20", {0});
    scheduler.turn();
    EXPECT_EQ(outcome["b"], "environment 20 ended while it waited for the lock");
}

// A restarted service, with the state of the previous one.
struct Restarted {
    Restarted(FakeStore& store, FakeProcesses& processes, FakeClock& clock,
              FakeLockDescriptors& descriptors, FakeScheduler& scheduler_, SilentLog& log)
        : scheduler(scheduler_), ledger(store, clock, hub),
          locks(ledger, descriptors, scheduler, log) {
        hub.subscribe([this](const core::Event& event) { locks.onEvent(event); });
        core::recover(ledger, store, processes, clock.bootNow());
        locks.recover();
    }
    core::Locks::Ticket ask(const std::string& name, const std::string& id,
                            core::Uid actor = alice) {
        const auto ticket = locks.request(
            id, actor, [this, name](const core::LockEnd* lock, const core::Error* refusal) {
                outcome[name] = lock != nullptr ? "locked" : refusal->what();
            });
        scheduler.turn();
        return ticket;
    }
    void release(FakeLockDescriptors& descriptors, const std::string& id) {
        descriptors.release(ledger.get(id).locks.at(0).number);
        scheduler.turn();
    }

    FakeScheduler& scheduler;
    core::EventHub hub;
    core::Ledger ledger;
    core::Locks locks;
    std::map<std::string, std::string> outcome;
};

class LockingOverARestart : public Locking {
  protected:
    LockingOverARestart() {
        for (const char* id : {"10", "20", "30"})
            share(id, {0});
        ask("a", "10");
        ask("b", "20");
        ask("c", "30");
    }
    std::unique_ptr<Restarted> restart() {
        return std::make_unique<Restarted>(store, processes, clock, descriptors, scheduler, log);
    }
};

TEST_F(LockingOverARestart, KeepsTheOrderOfThoseWhoWait) {
    const auto again = restart();
    again->ask("c", "30");
    again->ask("d", "20", bob); // in the same environment, and new
    again->ask("b", "20");
    again->release(descriptors, "10");
    EXPECT_EQ(again->outcome, (std::map<std::string, std::string>{{"b", "locked"}}));
    again->release(descriptors, "20");
    EXPECT_EQ(again->outcome.at("c"), "locked");
    EXPECT_FALSE(again->outcome.contains("d"));
    again->release(descriptors, "30");
    EXPECT_EQ(again->outcome.at("d"), "locked");
}

TEST_F(LockingOverARestart, KeepsAPlaceFromTheMomentOfAsking) {
    locks.request("10", alice, [](const core::LockEnd*, const core::Error*) {});
    EXPECT_EQ(restart()->ledger.get("10").lockWaits.size(), 1U) << "the loop has not turned since";
}

TEST_F(LockingOverARestart, HoldsUpNobodyForLongWhoseClientDoesNotCallAgain) {
    const auto again = restart();
    again->ask("c", "30");
    again->release(descriptors, "10");
    EXPECT_TRUE(again->outcome.empty()) << "the place of the earlier one is kept";
    scheduler.pass(std::chrono::seconds{30});
    scheduler.turn();
    EXPECT_EQ(again->outcome, (std::map<std::string, std::string>{{"c", "locked"}}));
    EXPECT_EQ(restart()->ledger.get("20").lockWaits.size(), 0U) << "nor after the next restart";
}

TEST_F(LockingOverARestart, KeepsNoPlaceOfWhatWasAnsweredCancelledOrEnded) {
    release("10"); // b has the lock
    ask("d", "10");
    locks.cancel(ask("e", "10"));
    processes.exit(30);
    scheduler.turn();
    const auto again = restart();
    EXPECT_EQ(again->ledger.find("30"), nullptr);
    EXPECT_EQ(again->ledger.get("20").lockWaits.size(), 0U);
    EXPECT_EQ(again->ledger.get("10").lockWaits.size(), 1U);
    again->ask("f", "20");
    again->release(descriptors, "20");
    again->ask("d", "10");
    EXPECT_EQ(again->outcome, (std::map<std::string, std::string>{{"d", "locked"}}));
}

// The state contains the grant, but the service ended before its client got the reply. The
// descriptor for the client closed with the service. systemd may or may not have noticed that yet.
TEST_F(LockingOverARestart, KeepsThePlaceOfALockWhoseClientNeverGotIt) {
    FakeStore before;
    descriptors.onOpen = [&](std::uint64_t) { before.documents = store.documents; };
    release("10"); // b has the lock
    descriptors.onOpen = nullptr;
    for (const bool isKept : {true, false}) {
        SCOPED_TRACE(isKept);
        FakeStore found = before;
        descriptors.hungUp = descriptors.opened;
        if (!isKept)
            descriptors.opened.clear();
        Restarted again(found, processes, clock, descriptors, scheduler, log);
        again.ask("c", "30");
        again.ask("b", "20");
        EXPECT_EQ(again.outcome, (std::map<std::string, std::string>{{"b", "locked"}}));
    }
}

TEST_F(LockingOverARestart, KeepsNoPlaceOfALockWhoseClientGotIt) {
    FakeStore before;
    descriptors.onOpen = [&](std::uint64_t) { before.documents = store.documents; };
    release("10"); // b has the lock
    descriptors.onOpen = nullptr;
    Restarted again(before, processes, clock, descriptors, scheduler, log);
    EXPECT_EQ(again.ledger.get("20").locks.size(), 1U);
    again.ask("c", "30");
    again.release(descriptors, "20");
    EXPECT_EQ(again.outcome, (std::map<std::string, std::string>{{"c", "locked"}}));
}

TEST_F(LockingOverARestart, KeepsThePlacesBehindALockWhoseClientGotIt) {
    ask("d", "20"); // in the environment that gets the lock
    FakeStore before;
    descriptors.onOpen = [&](std::uint64_t) { before.documents = store.documents; };
    release("10"); // b has the lock
    descriptors.onOpen = nullptr;
    Restarted again(before, processes, clock, descriptors, scheduler, log);
    again.ask("c", "30");
    again.ask("e", "10");
    again.release(descriptors, "20");
    again.release(descriptors, "30");
    EXPECT_EQ(again.outcome, (std::map<std::string, std::string>{{"c", "locked"}}))
        << "the place of d is kept before e";
}

TEST_F(LockingOverARestart, KeepsTheOrderThoughAPlaceCannotBeWritten) {
    store.writesUntilFailure = 0;
    ask("d", "10");
    ask("e", "20");
    store.writesUntilFailure = -1;
    ask("f", "30");
    const std::uint64_t first = ledger.get("10").lockWaits.at(0).ticket;
    const std::uint64_t second = ledger.get("20").lockWaits.at(1).ticket;
    const std::uint64_t third = ledger.get("30").lockWaits.at(1).ticket;
    EXPECT_TRUE(first < second && second < third) << first << " " << second << " " << third;
}

} // namespace
} // namespace genv::tests
