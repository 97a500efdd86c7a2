// SPDX-License-Identifier: LGPL-2.1-or-later
// Workers answer with messages and keep no reference to the loop's objects. Observations are
// shared, and never older than requested.
#include "service/gpu/gpu_observer.hpp"
#include "service/loop/fair_worker.hpp"
#include "service/loop/worker.hpp"
#include "service/user_directory.hpp"
#include "tests/core/fakes.hpp"
#include "tests/service/mailbox.hpp"
#include "tests/service/proc_access.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <future>
#include <semaphore>

namespace genv::tests {
namespace {

using namespace std::chrono_literals;

constexpr core::Gid students = 1101;

TEST(Worker, AnswersOnTheLoopsThreadInOrder) {
    Mailbox mailbox;
    service::Worker worker("test", mailbox.post());
    std::vector<int> answers;
    const auto loop = std::this_thread::get_id();
    for (int i = 0; i < 100; ++i)
        worker.run<int>([i] { return i; },
                        [&, loop](int answer) {
                            EXPECT_EQ(std::this_thread::get_id(), loop);
                            answers.push_back(answer);
                        });
    for (int i = 0; i < 100; ++i)
        mailbox.take();
    for (int i = 0; i < 100; ++i)
        EXPECT_EQ(answers.at(static_cast<std::size_t>(i)), i);
}

TEST(Worker, DestroysWhatBelongsToTheLoopOnTheLoopsThread) {
    struct Owned {
        std::thread::id loop = std::this_thread::get_id();
        ~Owned() { EXPECT_EQ(std::this_thread::get_id(), loop); }
    };
    Mailbox mailbox;
    service::Worker worker("test", mailbox.post());
    for (int i = 0; i < 1000; ++i)
        worker.run<int>([] { return 0; }, [owned = std::make_shared<Owned>()](int) {});
    for (int i = 0; i < 1000; ++i)
        mailbox.take();
}

TEST(Worker, DropsAnswersOnceItIsGone) {
    Mailbox mailbox;
    bool answered = false;
    std::promise<void> began;
    {
        service::Worker worker("test", mailbox.post());
        worker.run<int>(
            [&] {
                began.set_value();
                return 1;
            },
            [&](int) { answered = true; });
        began.get_future().wait();
    }
    mailbox.take();
    EXPECT_FALSE(answered);
}

/// Samples that the test releases one by one.
class GatedGpus : public core::Gpus {
  public:
    core::GpuSample sample() override {
        ++begun;
        permits.acquire();
        if (failing)
            throw core::GpuError("it hangs");
        core::GpuSample result;
        result.devices.push_back(sampleOf(gpuFacts(0)));
        return result;
    }
    std::counting_semaphore<1000> permits{0};
    std::atomic<int> begun{0};
    std::atomic<bool> failing{false};
};

class SharedClock : public core::Clock {
  public:
    std::atomic<std::int64_t> microseconds{1'000'000};
    [[nodiscard]] core::WallTime wallNow() const override { return core::fromMicroseconds(1); }
    [[nodiscard]] core::BootTime bootNow() const override {
        return core::BootTime{std::chrono::microseconds{microseconds.load()}};
    }
};

class GpuObserver : public ::testing::Test {
  protected:
    Mailbox mailbox;
    SharedClock clock;
    FakeScheduler scheduler;
    GatedGpus* gpus = nullptr;
    std::unique_ptr<service::GpuObserver> observer = [this] {
        auto made = std::make_unique<GatedGpus>();
        gpus = made.get();
        return std::make_unique<service::GpuObserver>(std::move(made), procAccess(), clock,
                                                      scheduler, mailbox.post());
    }();
    int answers = 0;
    int failures = 0;

    void ask(std::chrono::milliseconds oldest) {
        observer->observe(oldest, [this](const auto& observation, const std::string& failure) {
            ++answers;
            if (!observation) {
                ++failures;
                EXPECT_EQ(failure, "it hangs");
            }
        });
    }
};

TEST_F(GpuObserver, SharesOneObservationAmongThoseItSuits) {
    for (int i = 0; i < 10; ++i)
        ask(1s);
    gpus->permits.release();
    mailbox.take();
    EXPECT_EQ(answers, 10);
    EXPECT_EQ(gpus->begun, 1);
}

TEST_F(GpuObserver, ServesAYoungOneAgainButNeverBeforeItReturns) {
    ask(1s);
    gpus->permits.release();
    mailbox.take();
    clock.microseconds += 900'000;
    ask(1s);
    EXPECT_EQ(answers, 1);
    scheduler.turn();
    EXPECT_EQ(answers, 2);
    EXPECT_EQ(gpus->begun, 1);
    clock.microseconds += 200'000;
    ask(1s);
    gpus->permits.release();
    mailbox.take();
    EXPECT_EQ(answers, 3);
    EXPECT_EQ(gpus->begun, 2);
}

// The total memory of a GPU that shares the machine's memory, and of one that does not.
TEST(UnifiedMemory, IsTheMachinesUnlessConfigured) {
    class Gpus : public core::Gpus {
      public:
        core::GpuSample sample() override {
            core::GpuSample sample;
            sample.devices.resize(2);
            sample.devices[0].hasUnifiedMemory = true;
            return sample;
        }
    };
    Gpus gpus;
    const SharedClock clock;
    service::ObservedProcesses processes{procAccess()};
    const auto totals = [&](std::optional<core::Bytes> configured) {
        const auto observation = service::takeObservation(gpus, processes, clock, configured);
        EXPECT_EQ(observation.devices[1].facts.totalMemory, core::Bytes{0});
        return observation.devices[0].facts.totalMemory;
    };
    EXPECT_EQ(totals(core::Bytes{64ULL << 30U}), core::Bytes{64ULL << 30U});
    std::ifstream file("/proc/meminfo");
    std::string name;
    std::uint64_t kibibytes = 0;
    file >> name >> kibibytes;
    ASSERT_EQ(name, "MemTotal:");
    EXPECT_EQ(totals(std::nullopt), core::Bytes{kibibytes * 1024});
}

TEST_F(GpuObserver, TakesANewOneForThoseWhoAskedDuringAnOlderOne) {
    ask(1s);
    while (gpus->begun == 0)
        std::this_thread::yield();
    clock.microseconds += 10;
    ask(0ms);
    gpus->permits.release();
    mailbox.take();
    EXPECT_EQ(answers, 1) << "the second wants one that began after it asked";
    gpus->permits.release();
    mailbox.take();
    EXPECT_EQ(answers, 2);
    EXPECT_EQ(gpus->begun, 2);
}

TEST_F(GpuObserver, TellsAFailureToEverybodyAndGoesOn) {
    gpus->failing = true;
    ask(1s);
    ask(1s);
    gpus->permits.release();
    mailbox.take();
    EXPECT_EQ(failures, 2);
    EXPECT_EQ(observer->last(), nullptr);
    gpus->failing = false;
    ask(1s);
    gpus->permits.release();
    mailbox.take();
    EXPECT_EQ(answers, 3);
    EXPECT_EQ(failures, 2);
}

TEST(UserDirectory, AsksOncePerUserAndKeepsTheName) {
    Mailbox mailbox;
    FakeClock clock;
    FakeScheduler scheduler;
    SilentLog log;
    std::atomic<int> lookups{0};
    service::UserDirectory users(clock, scheduler, log, mailbox.post(), [&](core::Uid uid) {
        ++lookups;
        return uid == alice ? core::UserInfo{uid, "alice", {students}} : core::UserInfo{};
    });
    std::vector<std::string> names;
    const auto keep = [&](const core::UserInfo& user) { names.push_back(user.name); };
    users.describe(alice, keep);
    users.describe(alice, keep);
    mailbox.take();
    users.describe(alice, keep);
    EXPECT_EQ(names, (std::vector<std::string>{"alice", "alice", "alice"}));
    EXPECT_EQ(lookups, 1);
    users.describe(bob, keep);
    mailbox.take();
    EXPECT_EQ(names.back(), "1002") << "a uid without a name is its own name";
    clock.pass(11min);
    users.describe(alice, keep);
    mailbox.take();
    EXPECT_EQ(lookups, 3) << "names change";
}

TEST(UserDirectory, DoesNotWaitForADatabaseThatHangs) {
    Mailbox mailbox;
    FakeClock clock;
    FakeScheduler scheduler;
    SilentLog log;
    std::binary_semaphore release{0};
    std::vector<std::string> names;
    {
        service::UserDirectory users(clock, scheduler, log, mailbox.post(), [&](core::Uid) {
            release.acquire();
            return core::UserInfo{alice, "alice", {}};
        });
        users.describe(alice, [&](const core::UserInfo& user) { names.push_back(user.name); });
        scheduler.pass(service::UserDirectory::timeout);
        EXPECT_EQ(names, std::vector<std::string>{"1001"});
        release.release();
        mailbox.take();
        EXPECT_EQ(names.size(), 1U) << "it is answered once";
        users.describe(alice, [&](const core::UserInfo& user) { names.push_back(user.name); });
    }
    EXPECT_EQ(names, (std::vector<std::string>{"1001", "alice"}));
}

// Answers when the test permits it, and with nothing if the database fails.
struct SlowDatabase {
    std::counting_semaphore<64> permits{0};
    std::atomic<bool> fails{false};

    service::UserDirectory::Lookup lookup() {
        return [this](core::Uid uid) -> std::optional<core::UserInfo> {
            permits.acquire();
            if (fails)
                return std::nullopt;
            return core::UserInfo{uid, "user" + std::to_string(uid), {students}};
        };
    }
};

TEST(UserDirectory, KeepsToWhatADatabaseSaidThatIsSlowNow) {
    Mailbox mailbox;
    FakeClock clock;
    FakeScheduler scheduler;
    SilentLog log;
    SlowDatabase database;
    service::UserDirectory users(clock, scheduler, log, mailbox.post(), database.lookup());
    std::vector<core::UserInfo> received;
    const auto keep = [&](const core::UserInfo& user) { received.push_back(user); };
    database.permits.release();
    users.describe(alice, keep);
    mailbox.take();
    clock.pass(24h);
    users.describe(alice, keep);
    users.describe(bob, keep);
    scheduler.pass(service::UserDirectory::timeout);
    database.permits.release(2);
    ASSERT_EQ(received.size(), 3U);
    EXPECT_EQ(received[1].name, "user1001");
    EXPECT_EQ(received[1].groups, std::vector<core::Gid>{students});
    EXPECT_FALSE(received[1].isUnknown);
    EXPECT_EQ(received[2].name, "1002") << "of bob it said nothing yet";
    EXPECT_TRUE(received[2].isUnknown);
    EXPECT_EQ(users.newest({alice, "1001", {}, true}).name, "user1001");
    EXPECT_TRUE(users.newest({1003U, "1003", {}, true}).isUnknown);
}

TEST(UserDirectory, TellsADatabaseThatFailsFromOneThatHasNoSuchUser) {
    Mailbox mailbox;
    FakeClock clock;
    FakeScheduler scheduler;
    SilentLog log;
    SlowDatabase database;
    database.permits.release(64);
    service::UserDirectory users(clock, scheduler, log, mailbox.post(), database.lookup());
    std::vector<core::UserInfo> received;
    const auto keep = [&](const core::UserInfo& user) { received.push_back(user); };
    database.fails = true;
    users.describe(alice, keep);
    mailbox.take();
    ASSERT_EQ(received.size(), 1U) << "at once, and not at the deadline";
    EXPECT_TRUE(received[0].isUnknown);
    database.fails = false;
    users.describe(alice, keep);
    mailbox.take();
    ASSERT_EQ(received.size(), 2U) << "a failure is not kept";
    EXPECT_FALSE(received[1].isUnknown);
    database.fails = true;
    clock.pass(11min);
    users.describe(alice, keep);
    mailbox.take();
    EXPECT_EQ(received.back().name, "user1001");
}

// The name service gives the same answer for a server that is down.
TEST(UserDirectory, KeepsToWhatItKnowsOfAUserWhoIsThereNoMore) {
    Mailbox mailbox;
    FakeClock clock;
    FakeScheduler scheduler;
    SilentLog log;
    std::atomic<bool> isDown{false};
    service::UserDirectory users(clock, scheduler, log, mailbox.post(), [&](core::Uid uid) {
        return isDown ? core::UserInfo{} : core::UserInfo{uid, "alice", {students}};
    });
    std::vector<core::UserInfo> received;
    const auto keep = [&](const core::UserInfo& user) { received.push_back(user); };
    users.describe(alice, keep);
    mailbox.take();
    isDown = true;
    clock.pass(11min);
    users.describe(alice, keep);
    mailbox.take();
    ASSERT_EQ(received.size(), 2U);
    EXPECT_EQ(received[1].name, "alice");
    EXPECT_EQ(received[1].groups, std::vector<core::Gid>{students});
}

// A caller that looks a user up a moment before that user's own request does not shorten that
// user's time.
TEST(UserDirectory, GivesEverybodyWhoAsksTheWholeTime) {
    Mailbox mailbox;
    FakeClock clock;
    FakeScheduler scheduler;
    SilentLog log;
    SlowDatabase database;
    service::UserDirectory users(clock, scheduler, log, mailbox.post(), database.lookup());
    std::vector<core::UserInfo> received;
    const auto keep = [&](const core::UserInfo& user) { received.push_back(user); };
    users.describeFor(alice, bob, keep);
    scheduler.pass(service::UserDirectory::timeout - 1ms);
    users.describe(bob, keep);
    users.describeFor(alice, bob, keep); // again: it gains no more time
    scheduler.pass(1ms);
    EXPECT_TRUE(received.empty());
    database.permits.release(2);
    mailbox.take();
    ASSERT_EQ(received.size(), 3U);
    EXPECT_FALSE(received[1].isUnknown);
}

TEST(UserDirectory, LooksUpAUserBeforeTheManyThatAnotherAsksAbout) {
    Mailbox mailbox;
    FakeClock clock;
    FakeScheduler scheduler;
    SilentLog log;
    std::counting_semaphore<64> release{0};
    std::vector<core::Uid> lookups;
    std::vector<std::string> names;
    service::UserDirectory users(clock, scheduler, log, mailbox.post(), [&](core::Uid uid) {
        release.acquire();
        lookups.push_back(uid);
        return core::UserInfo{uid, "user" + std::to_string(uid), {}};
    });
    const auto keep = [&](const core::UserInfo& user) { names.push_back(user.name); };
    // Alice looks many users up, bob among them, and then bob makes a request himself.
    for (core::Uid uid = 5000; uid < 5020; ++uid)
        users.describeFor(alice, uid, keep);
    users.describeFor(alice, bob, keep);
    users.describe(bob, keep);
    release.release(2);
    mailbox.take();
    mailbox.take();
    EXPECT_EQ(lookups, (std::vector<core::Uid>{5000, bob}));
    EXPECT_EQ(std::count(names.begin(), names.end(), "user1002"), 2);
    // No caller waits for the other users any more, so they are not looked up.
    scheduler.pass(service::UserDirectory::timeout);
    users.describe(1003U, keep);
    release.release(2);
    mailbox.take();
    mailbox.take();
    EXPECT_EQ(lookups, (std::vector<core::Uid>{5000, bob, 5001, 1003U}));
}

TEST(FairWorker, LetsUsersTakeTurns) {
    Mailbox mailbox;
    service::FairWorker worker("test", mailbox.post());
    std::vector<std::string> order;
    const auto ask = [&](core::Uid uid, const std::string& what) {
        worker.run<std::string>(
            uid, [what] { return what; }, [&](const std::string& done) { order.push_back(done); });
    };
    for (int i = 0; i < 5; ++i)
        ask(alice, std::string("a").append(std::to_string(i)));
    ask(bob, "b0");
    ask(1003U, "c0");
    ask(bob, "b1");
    for (int i = 0; i < 8; ++i)
        mailbox.take();
    EXPECT_EQ(order, (std::vector<std::string>{"a0", "b0", "c0", "a1", "b1", "a2", "a3", "a4"}));
}

} // namespace
} // namespace genv::tests
