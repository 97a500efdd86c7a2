// SPDX-License-Identifier: LGPL-2.1-or-later
// No test waits for a fixed time: each wait is for an expected event, and its limit only keeps a
// bug from hanging the test.
#include "client/remote/fleet/gathering.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

namespace genv::remote {
namespace {

using namespace std::chrono_literals;

constexpr auto aLongTime = 60s;

/// A point at which threads wait for each other.
class Meeting {
  public:
    /// Joins and waits until this number of threads has joined. Returns false if they do not.
    bool await(std::size_t count) {
        std::unique_lock lock(mutex_);
        ++here_;
        changed_.notify_all();
        return changed_.wait_for(lock, aLongTime, [&] { return here_ >= count; });
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::size_t here_ = 0;
};

// Stands for ssh, which ends when it is canceled.
bool isCancelledInTime(const SshBounds& bounds) {
    const auto end = std::chrono::steady_clock::now() + aLongTime;
    while (!bounds.cancellation->isCancelled()) {
        if (std::chrono::steady_clock::now() > end)
            return false;
        std::this_thread::yield();
    }
    return true;
}

std::vector<Host> hosts(std::size_t count) {
    std::vector<Host> all;
    for (std::size_t i = 0; i < count; ++i)
        all.push_back({fmt::format("h{}", i), std::nullopt, std::nullopt});
    return all;
}

TEST(ForEachHost, WorksOnEachOnceAndTellsOfItOnTheCallingThread) {
    constexpr std::size_t count = 200;
    std::vector<std::atomic<int>> worked(count);
    std::vector<int> reported(count);
    const auto testThread = std::this_thread::get_id();
    bool isElsewhere = false;
    forEachHost(
        count, 10s, [&](std::size_t index, const SshBounds&) { ++worked[index]; },
        [&](std::size_t index) {
            isElsewhere = isElsewhere || std::this_thread::get_id() != testThread;
            reported[index] += worked[index];
            return true;
        });
    EXPECT_FALSE(isElsewhere);
    EXPECT_EQ(reported, std::vector<int>(count, 1));
}

TEST(ForEachHost, DoesNothingForNoHost) {
    forEachHost(
        0, 10s, [](std::size_t, const SshBounds&) { ADD_FAILURE(); },
        [](std::size_t) {
            ADD_FAILURE();
            return true;
        });
}

TEST(ForEachHost, GivesEachItsDeadline) {
    std::atomic<int> right = 0;
    forEachHost(
        3, 1234ms,
        [&](std::size_t, const SshBounds& bounds) {
            if (bounds.deadline == 1234ms && bounds.cancellation != nullptr)
                ++right;
        },
        [](std::size_t) { return true; });
    EXPECT_EQ(right, 3);
}

TEST(ForEachHost, WorksOnManyAtOnceButNotOnAll) {
    Meeting meeting;
    std::atomic<std::size_t> running = 0;
    std::atomic<std::size_t> max = 0;
    std::atomic<bool> met = true;
    forEachHost(
        3 * maxConcurrentHosts, 10s,
        [&](std::size_t, const SshBounds&) {
            const std::size_t now = ++running;
            for (std::size_t seen = max; seen < now && !max.compare_exchange_weak(seen, now);) {
            }
            if (!meeting.await(maxConcurrentHosts))
                met = false;
            --running;
        },
        [](std::size_t) { return true; });
    EXPECT_TRUE(met);
    EXPECT_EQ(max, maxConcurrentHosts);
}

TEST(ForEachHost, OneThatHangsHoldsUpNoneOfTheOthers) {
    constexpr std::size_t count = 2 * maxConcurrentHosts;
    std::atomic<bool> othersAreReported = false;
    std::size_t reported = 0;
    forEachHost(
        count, 10s,
        [&](std::size_t index, const SshBounds&) {
            const auto end = std::chrono::steady_clock::now() + aLongTime;
            while (index == 0 && !othersAreReported && std::chrono::steady_clock::now() < end)
                std::this_thread::yield();
        },
        [&](std::size_t index) {
            EXPECT_EQ(index == 0, ++reported == count);
            othersAreReported = reported == count - 1 || othersAreReported;
            return true;
        });
    EXPECT_EQ(reported, count);
}

TEST(ForEachHost, StopsWhenItIsToldTo) {
    constexpr std::size_t count = 2 * maxConcurrentHosts;
    std::atomic<std::size_t> begun = 0;
    std::atomic<bool> cancelled = true;
    forEachHost(
        count, 10s,
        [&](std::size_t index, const SshBounds& bounds) {
            ++begun;
            if (index != 0 && !isCancelledInTime(bounds))
                cancelled = false;
        },
        [](std::size_t) { return false; });
    EXPECT_TRUE(cancelled);
    EXPECT_LE(begun, maxConcurrentHosts + 1); // the one that ended made room
}

TEST(ForEachHost, EndsItsWorkersBeforeAnExceptionLeavesIt) {
    std::atomic<int> running = 0;
    std::atomic<bool> cancelled = true;
    const auto work = [&](std::size_t index, const SshBounds& bounds) {
        ++running;
        if (index != 0 && !isCancelledInTime(bounds))
            cancelled = false;
        --running;
    };
    EXPECT_THROW(
        forEachHost(8, 10s, work, [](std::size_t) -> bool { throw std::runtime_error("why"); }),
        std::runtime_error);
    EXPECT_TRUE(cancelled);
    EXPECT_EQ(running, 0);
}

TEST(Gather, KeepsTheOrderOfTheHosts) {
    const auto all = gather<std::string>(
        hosts(100), {}, [](const Host& host, const SshBounds&) { return host.name; },
        [](const Gathered<std::string>&, std::size_t) {});
    ASSERT_EQ(all.size(), 100U);
    for (const auto& one : all)
        EXPECT_EQ(one.value, one.host.name);
}

TEST(Gather, CountsThoseThatAnswered) {
    std::vector<std::size_t> counts;
    gather<int>(
        hosts(5), {}, [](const Host&, const SshBounds&) { return 1; },
        [&](const Gathered<int>& one, std::size_t answered) {
            EXPECT_EQ(one.value, 1);
            counts.push_back(answered);
        });
    EXPECT_EQ(counts, (std::vector<std::size_t>{1, 2, 3, 4, 5}));
}

TEST(Gather, AFailureIsOfItsHostOnly) {
    const auto all = gather<int>(
        hosts(3), {},
        [](const Host& host, const SshBounds&) -> int {
            if (host.name == "h0")
                throw HostFailure(Trouble::TimedOut, "what", "hint");
            if (host.name == "h1")
                throw std::runtime_error("first\nlast \x1b[2J");
            return 2;
        },
        [](const Gathered<int>&, std::size_t) {});
    ASSERT_TRUE(all[0].failure && all[1].failure);
    EXPECT_EQ(all[0].failure->trouble(), Trouble::TimedOut);
    EXPECT_STREQ(all[0].failure->what(), "what");
    EXPECT_EQ(all[0].failure->hint(), "hint");
    EXPECT_EQ(all[1].failure->trouble(), Trouble::Failed);
    EXPECT_STREQ(all[1].failure->what(), "last \\x1b[2J");
    EXPECT_EQ(all[2].value, 2);
    EXPECT_FALSE(all[0].value || all[1].value || all[2].failure);
}

TEST(Gather, AfterAFailureGoesOnUnlessItIsToStop) {
    for (const bool stops : {false, true}) {
        constexpr std::size_t count = 2 * maxConcurrentHosts;
        GatheringOptions options;
        options.stopAtFailure = stops;
        const auto all = gather<int>(
            hosts(count), options,
            [&](const Host& host, const SshBounds& bounds) -> int {
                if (host.name == "h0")
                    throw HostFailure(Trouble::Unreachable, "down");
                if (stops && isCancelledInTime(bounds))
                    throw HostFailure(Trouble::Cancelled, "given up");
                return 1;
            },
            [](const Gathered<int>&, std::size_t) {});
        const auto answered = std::count_if(all.begin(), all.end(),
                                            [](const auto& one) { return one.value.has_value(); });
        EXPECT_EQ(answered, stops ? 0 : static_cast<long>(count) - 1);
        ASSERT_TRUE(all.front().failure);
        EXPECT_EQ(all.front().failure->trouble(), Trouble::Unreachable);
        // Hosts that were not started yet report the same.
        EXPECT_EQ(all.back().failure.has_value(), stops);
        if (stops) {
            EXPECT_EQ(all.back().failure->trouble(), Trouble::Cancelled);
        }
    }
}

} // namespace
} // namespace genv::remote
