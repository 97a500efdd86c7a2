// SPDX-License-Identifier: LGPL-2.1-or-later
#include "spool_fixture.hpp"

#include <chrono>
#include <fstream>

namespace genv::messages {

namespace {

using namespace std::chrono_literals;

class Spools : public SpoolFixture {};

constexpr core::WallTime now(1000s);

TEST_F(Spools, KeepEventsOverACrash) {
    {
        Spool spool(folder());
        spool.add(endOf(1));
        spool.add(endOf(2));
    }
    Spool spool(folder());
    EXPECT_EQ(spool.size(), 2U);
    spool.add(endOf(3));
    spool.makeBatch(now);
    EXPECT_EQ(spool.batch()->events, (std::vector{endOf(1), endOf(2), endOf(3)}));
    EXPECT_FALSE(spool.hasEvents());
}

TEST_F(Spools, KeepABatchAndItsAttemptsOverACrash) {
    {
        Spool spool(folder());
        spool.add(endOf(1));
        spool.makeBatch(now);
        spool.beginAttempt(now);
        spool.postpone(now + 1min);
        spool.add(endOf(2));
    }
    Spool spool(folder());
    ASSERT_TRUE(spool.batch());
    EXPECT_EQ(spool.batch()->events, std::vector{endOf(1)});
    EXPECT_EQ(spool.batch()->attempts, 1U);
    EXPECT_EQ(spool.batch()->next, now + 1min);
    EXPECT_TRUE(spool.hasEvents());
    EXPECT_EQ(countWaiting(folder()), 2U);
}

TEST_F(Spools, DoNotRepeatEventsOfABatchAfterACrashBetweenTheFiles) {
    std::filesystem::path copy;
    {
        Spool spool(folder());
        spool.add(endOf(1));
        const auto event = folder() / "1.event";
        copy = folder() / "copy";
        std::filesystem::copy(event, copy);
        spool.makeBatch(now);
        std::filesystem::rename(copy, event);
    }
    Spool spool(folder());
    EXPECT_FALSE(spool.hasEvents());
    EXPECT_EQ(spool.size(), 1U);
    EXPECT_FALSE(std::filesystem::exists(folder() / "1.event"));
}

TEST_F(Spools, SayThatABatchWasSentWhenItsFileIsGone) {
    Spool spool(folder());
    spool.add(endOf(1));
    spool.makeBatch(now);
    EXPECT_FALSE(spool.isSent());
    std::filesystem::remove(batchFile(folder(), spool.instance()));
    EXPECT_TRUE(spool.isSent());
    spool.finishBatch();
    EXPECT_EQ(spool.size(), 0U);
}

TEST_F(Spools, HoldNoMoreThanTheNewestEvents) {
    Spool spool(folder());
    for (std::uint32_t job = 1; job <= Spool::maxEvents + 3; ++job)
        spool.add(endOf(job));
    EXPECT_EQ(spool.size(), Spool::maxEvents);
    spool.makeBatch(now);
    EXPECT_EQ(spool.batch()->events.front(), endOf(4));
    EXPECT_EQ(spool.batch()->missing, 3U);
}

TEST_F(Spools, AreForTheirUserAlone) {
    Spool spool(folder());
    spool.add(endOf(1));
    using std::filesystem::perms;
    EXPECT_EQ(std::filesystem::status(folder()).permissions(), perms::owner_all);
    EXPECT_EQ(std::filesystem::status(folder() / "1.event").permissions(),
              perms::owner_read | perms::owner_write);
}

TEST_F(Spools, SurviveForeignFiles) {
    std::filesystem::create_directories(folder());
    for (const char* name : {"1.event", "2.batch", "x.event", "0.batch", "test-1.batch", "3.new"})
        std::ofstream(folder() / name) << "{nonsense";
    std::filesystem::create_symlink("/etc/passwd", folder() / "4.event");
    Spool spool(folder());
    EXPECT_EQ(spool.size(), 0U);
    EXPECT_TRUE(std::filesystem::exists(folder() / "test-1.batch"));
    spool.add(endOf(1));
    EXPECT_EQ(Spool(folder()).size(), 1U);
}

TEST(Batches, HaveNamesThatAreSafeInUnitsAndPaths) {
    for (const char* name : {"1", "test-12", "0009"})
        EXPECT_TRUE(isInstance(name)) << name;
    for (const char* name : {"", "../1", "1/2", "A", "1 2", "1.2", "%i", "a\n"})
        EXPECT_FALSE(isInstance(name)) << name;
    EXPECT_FALSE(isInstance(std::string(65, '1')));
}

} // namespace

} // namespace genv::messages
