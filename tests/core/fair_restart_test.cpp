// SPDX-License-Identifier: LGPL-2.1-or-later
// The order of the queue and the users' use after a crash, a stop, a reboot, and with broken
// records.
#include "core/ledger/recovery.hpp"
#include "core/state/state_schema.hpp"
#include "tests/core/queue_fixture.hpp"
#include "tests/core/seeds.hpp"

#include <nlohmann/json.hpp>

#include <random>

namespace genv::tests {
namespace {

using nlohmann::json;
using std::chrono::hours;
using std::chrono::seconds;

class FairRestart : public Queueing, public ::testing::WithParamInterface<unsigned> {
  protected:
    FairRestart() { orderRules.order = core::QueueOrder::Fair; }

    // Another service with the same state.
    struct Again {
        core::EventHub events;
        core::Ledger ledger;
        FakeScheduler scheduler;
        core::DecayedUse use;
        core::UseRecorder recorder;
        core::Queue queue;
        Again(FairRestart& test, FakeStore& store, FakeUseStore& useStore)
            : ledger(store, test.clock, events), use(ledger, test.clock, hours{7 * 24}),
              recorder(use, useStore, test.clock, scheduler, [] { return true; }),
              queue(
                  ledger, test.clock, scheduler, events, test.log,
                  [](const core::UserInfo&) { return core::Limits{}; },
                  [] { return core::WaitingTimes{}; }, test.ordering(use)) {
            recorder.restore();
            events.subscribe([this](const core::Event& event) {
                use.onEvent(event);
                recorder.onEvent(event);
                queue.onEvent(event);
            });
            const core::RecoveryReport report =
                core::recover(ledger, store, test.processes, test.clock.bootNow());
            for (const core::EndedMeanwhile& ended : report.endedMeanwhile)
                use.countLost(ended.former, ended.attachments);
            queue.expectClients();
            ledger.observed(gpus(devices));
        }
    };
    // The files stay as they are at this instant: the other service gets copies. Returns its order.
    std::vector<core::Queue::Ticket> orderAfterAKill() {
        FakeStore files;
        files.documents = store.documents;
        FakeUseStore uses = useStore;
        const Again again(*this, files, uses);
        for (const core::Uid uid : {alice, alice + 1, alice + 2, alice + 3})
            EXPECT_NEAR(again.use.of(uid, clock.bootNow()), use.of(uid, clock.bootNow()), 1e-6);
        return again.queue.order();
    }
    void expectTheSameAfterAKill() { EXPECT_EQ(orderAfterAKill(), queue.order()); }
    unsigned below(unsigned limit) {
        return std::uniform_int_distribution<unsigned>(0, limit - 1)(random);
    }
    void begin(const std::string& id) {
        activate(id, alice + below(4));
        const std::optional<core::Bytes> share =
            below(4) == 0 ? std::optional(gigabytes(1 + below(16))) : std::nullopt;
        ask(id, {core::CountWanted{1 + below(2)}, {}, share, false}, {},
            {false, {}, static_cast<std::int32_t>(below(3))});
    }

    static constexpr core::DeviceIndex devices = 3;
    std::mt19937 random{GetParam()};
};

TEST_P(FairRestart, KeepsTheOrderAfterAKill) {
    haveGpus(devices);
    orderRules.maxOvertaking = 3;
    weights = {{alice, 100}, {alice + 1, 1000}, {alice + 2, 30}, {alice + 3, 300}};
    unsigned next = 100;
    for (int i = 0; i < 16; ++i)
        begin(std::to_string(next++));
    scheduler.turn();
    for (int step = 0; step < 80; ++step) {
        std::vector<std::string> ids;
        for (const auto& [sequence, environment] : ledger.environments())
            ids.push_back(environment.id);
        const std::string id = ids[below(static_cast<unsigned>(ids.size()))];
        if (below(3) == 0)
            processes.exit(static_cast<core::Pid>(std::stoul(id)));
        else
            ledger.detach(id, {}, ledger.get(id).uid);
        expectTheSameAfterAKill();
        scheduler.turn();
        expectTheSameAfterAKill();
        const seconds time{1 + below(300)};
        clock.pass(time);
        clock.wall += hours{72} * (static_cast<int>(below(3)) - 1);
        scheduler.pass(time);
        scheduler.turn();
        expectTheSameAfterAKill();
        while (ledger.environments().size() < 16)
            begin(std::to_string(next++));
        scheduler.turn();
    }
}

// Between any two writes, the files tell the order before or that after the change.
TEST_P(FairRestart, LosesNoUseByAKillWithinAChange) {
    haveGpus(devices);
    weights = {{alice, 100}, {alice + 1, 1000}, {alice + 2, 30}, {alice + 3, 300}};
    unsigned next = 100;
    for (int step = 0; step < 60; ++step) {
        while (ledger.environments().size() < 12)
            begin(std::to_string(next++));
        scheduler.turn();
        const seconds time{1 + below(300)};
        clock.pass(time);
        scheduler.pass(time);
        scheduler.turn();
        std::vector<std::string> holders;
        for (const auto& [sequence, environment] : ledger.environments()) {
            if (!environment.attachments.empty())
                holders.push_back(environment.id);
        }
        const std::string id = holders.at(below(static_cast<unsigned>(holders.size())));
        const auto before = queue.order();
        std::vector<std::vector<core::Queue::Ticket>> within;
        store.changed = [&] { within.push_back(orderAfterAKill()); };
        if (below(2) == 0)
            processes.exit(static_cast<core::Pid>(std::stoul(id)));
        else
            ledger.detach(id, {}, ledger.get(id).uid);
        store.changed = [] {};
        if (ledger.find(id) != nullptr) // makes room for another
            processes.exit(static_cast<core::Pid>(std::stoul(id)));
        ASSERT_FALSE(within.empty());
        for (const auto& order : within)
            EXPECT_TRUE(order == before || order == queue.order());
    }
}

TEST_P(FairRestart, CountsWhatEndedWhileTheServiceWasAway) {
    haveGpus(1);
    activate("10", alice);
    attachCount("10", 1);
    clock.pass(seconds{1000});
    const double used = use.of(alice, clock.bootNow());
    FakeStore files;
    files.documents = store.documents;
    FakeUseStore uses = useStore;
    processes.exit(10);
    const Again again(*this, files, uses);
    EXPECT_TRUE(again.ledger.environments().empty());
    EXPECT_NEAR(again.use.of(alice, clock.bootNow()), used, 1e-6);
}

TEST_P(FairRestart, CountsADeviceOnceIfOneOfItsHoldersEndedWhileTheServiceWasAway) {
    haveGpus(1);
    activate("10", alice);
    activate("20", alice);
    attachIndices("10", {0});
    attachIndices("20", {0}, true);
    clock.pass(seconds{1000});
    const double used = use.of(alice, clock.bootNow());
    FakeStore files;
    files.documents = store.documents;
    FakeUseStore uses = useStore;
    processes.exit(10);
    const Again again(*this, files, uses);
    EXPECT_NE(again.ledger.find("20"), nullptr);
    EXPECT_NEAR(again.use.of(alice, clock.bootNow()), used, 1e-6);
}

INSTANTIATE_TEST_SUITE_P(Seeds, FairRestart, seedsTo(3));

// alice held a device for 1000 s.
class UseRecords : public Queueing {
  protected:
    UseRecords() {
        haveGpus(1);
        activate("10", alice);
        attachCount("10", 1);
        pass(seconds{1000});
        ledger.detach("10", {}, alice);
        scheduler.turn();
    }
    void pass(seconds time) {
        clock.pass(time);
        scheduler.pass(time);
    }
    double usedAfterRestart() {
        core::DecayedUse again(ledger, clock, hours{7 * 24});
        core::UseRecorder restarted(again, useStore, clock, scheduler, [] { return false; });
        restarted.restore();
        return again.of(alice, clock.bootNow());
    }
};

TEST_F(UseRecords, AreWrittenAtMostOnceAMinuteAndAtAStop) {
    const int before = useStore.writes;
    for (int i = 0; i < 10; ++i) {
        attachCount("10", 1);
        pass(seconds{3});
        ledger.detach("10", {}, alice);
    }
    EXPECT_EQ(useStore.writes, before);
    pass(seconds{60});
    EXPECT_EQ(useStore.writes, before + 1);
    pass(seconds{3600});
    EXPECT_EQ(useStore.writes, before + 1) << "nothing changes";
    recorder.stop();
    EXPECT_EQ(useStore.writes, before + 2);
}

TEST_F(UseRecords, AreWrittenEveryMinuteWhileSomebodyHoldsADevice) {
    attachCount("10", 1);
    const int before = useStore.writes;
    for (int i = 0; i < 5; ++i)
        pass(seconds{60});
    EXPECT_EQ(useStore.writes, before + 5);
}

TEST_F(UseRecords, AreWrittenAtOnceWhenTheirOrderComesIntoForce) {
    attachCount("10", 1);
    pass(seconds{10});
    ledger.detach("10", {}, alice);
    EXPECT_NEAR(usedAfterRestart(), 1000, 1) << "nothing is ordered by it";
    orderRules.order = core::QueueOrder::Fair;
    recorder.settingsChanged();
    EXPECT_NEAR(usedAfterRestart(), 1010, 1);
}

TEST_F(UseRecords, OutliveAReboot) {
    recorder.stop();
    useStore.reboot();
    clock.wall += hours{7 * 24};
    clock.boot = core::BootTime{seconds{20}};
    EXPECT_NEAR(usedAfterRestart(), 500, 0.5);
}

TEST_F(UseRecords, AgeByTheBootClockOverARestartAndByABoundedWallClockOverAReboot) {
    recorder.stop();
    const core::WallTime wall = clock.wall;
    for (const auto jump : {hours{-72}, hours{72}, hours{-24 * 365 * 40}}) {
        clock.wall = wall + jump;
        EXPECT_NEAR(usedAfterRestart(), 1000, 1) << "the same boot";
    }
    useStore.reboot();
    clock.boot = core::BootTime{seconds{20}};
    clock.wall = wall - hours{72};
    EXPECT_NEAR(usedAfterRestart(), 1000, 1) << "a clock that went back";
    clock.wall = wall + hours{72};
    EXPECT_NEAR(usedAfterRestart(), 1000 * std::pow(0.5, 3.0 / 7), 1);
    json future = json::parse(*useStore.lasting);
    future["wall_time"] = std::int64_t{1} << 60;
    future["users"][0]["as_of"] = std::int64_t{1} << 60;
    useStore.lasting = future.dump();
    EXPECT_NEAR(usedAfterRestart(), 1000, 1) << "a record from the future";
}

TEST_F(UseRecords, AreWrittenAgainOnceTheDiskHasRoom) {
    pass(seconds{60});
    useStore.lasting.reset();
    useStore.isFull = true;
    attachCount("10", 1);
    ledger.detach("10", {}, alice);
    pass(seconds{60});
    EXPECT_FALSE(useStore.lasting);
    useStore.isFull = false;
    pass(seconds{60});
    EXPECT_NEAR(usedAfterRestart(), 1000, 1);
}

TEST_F(UseRecords, LoseAtMostAMinuteWhenTheMachineFails) {
    attachCount("10", 1);
    for (int i = 0; i < 7; ++i)
        pass(seconds{37});
    useStore.reboot();
    EXPECT_GE(usedAfterRestart(), 1000 + 7 * 37 - 2 * 60);
    EXPECT_LE(usedAfterRestart(), 1000 + 7 * 37);
}

class BrokenUseRecords : public ::testing::Test {
  protected:
    json document = json::parse(core::encodeUse(
        {"boot", core::BootTime{seconds{5}}, core::WallTime{seconds{7}}, {{1000, 12.5, {}}}}));

    void expectBroken(const std::string& text) {
        EXPECT_THROW(core::decodeUse(text), core::StateError) << text;
    }
};

TEST_F(BrokenUseRecords, AreRefusedAsAWhole) {
    EXPECT_EQ(core::decodeUse(document.dump()).rows.at(0).gpuSeconds, 12.5);
    const std::string text = document.dump();
    for (std::size_t length = 0; length < text.size(); ++length)
        expectBroken(text.substr(0, length));
    for (const char* key : {"version", "boot", "boot_time", "wall_time", "users"}) {
        json changed = document;
        changed.erase(key);
        expectBroken(changed.dump());
        for (const json& wrong : {json(nullptr), json(-1.5), json("x"), json(true),
                                  json::array({1}), json(18446744073709551615ULL)}) {
            if (std::string(key) == "boot" && wrong.is_string())
                continue;
            changed[key] = wrong;
            expectBroken(changed.dump());
        }
    }
    for (const char* key : {"uid", "gpu_seconds", "as_of"}) {
        json changed = document;
        changed["users"][0].erase(key);
        expectBroken(changed.dump());
        for (const json& wrong :
             {json(nullptr), json(-1.5), json("x"), json(true), json::array()}) {
            changed["users"][0][key] = wrong;
            expectBroken(changed.dump());
        }
    }
    for (const char* hostile :
         {"[]", "{}", "null", R"({"version":2})", R"({"version":1,"users":[1]})"})
        expectBroken(hostile);
    document["version"] = core::useVersion + 1;
    expectBroken(document.dump());
    document["version"] = core::useVersion;
    document["users"][0]["gpu_seconds"] = 1e300;
    EXPECT_NO_THROW(core::decodeUse(document.dump()));
}

TEST_F(BrokenUseRecords, AreReadAsTheyWereWritten) {
    const core::UseRecord record{"id",
                                 core::BootTime{seconds{5}},
                                 core::WallTime{seconds{7}},
                                 {{0, 1.0 / 3, core::BootTime{seconds{-9}}}, {4294967294U, 0, {}}}};
    EXPECT_EQ(core::decodeUse(core::encodeUse(record)), record);
}

} // namespace
} // namespace genv::tests
