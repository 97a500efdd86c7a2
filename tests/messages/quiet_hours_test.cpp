// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/messages/model/quiet_hours.hpp"
#include "client/messages/model/retries.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

namespace genv::messages {

namespace {

using namespace std::chrono_literals;

class QuietHoursTest : public testing::Test {
  protected:
    void SetUp() override { setZone("Europe/Berlin"); }
    void TearDown() override {
        unsetenv("TZ");
        tzset();
    }
    static void setZone(const char* zone) {
        setenv("TZ", zone, 1);
        tzset();
    }
    /// A time in UTC.
    static core::WallTime at(int month, int day, int hour, int minute, int second = 0) {
        std::tm time{};
        time.tm_year = 126;
        time.tm_mon = month - 1;
        time.tm_mday = day;
        time.tm_hour = hour;
        time.tm_min = minute;
        time.tm_sec = second;
        return core::WallTime(std::chrono::seconds(timegm(&time)));
    }
};

constexpr QuietHours overNight{22h, 7h};
constexpr QuietHours atNoon{12h + 30min, 13h};

TEST_F(QuietHoursTest, AreReadAsWritten) {
    EXPECT_EQ(parseQuietHours("22:00-07:00"), overNight);
    EXPECT_EQ(parseQuietHours("12:30-13:00"), atNoon);
    EXPECT_EQ(textOf(atNoon), "12:30-13:00");
    for (const char* text : {"", "22-7", "22:00-7:00", "24:00-07:00", "22:60-07:00", "22:00 07:00",
                             "07:00-07:00", "22:00-07:00 ", "-1:00-07:00", "2a:00-07:00"})
        EXPECT_FALSE(parseQuietHours(text)) << text;
}

TEST_F(QuietHoursTest, EndOnTheNextMorning) {
    EXPECT_EQ(endOfQuiet(overNight, at(6, 10, 19, 59, 59)), std::nullopt); // 21:59:59 here
    EXPECT_EQ(endOfQuiet(overNight, at(6, 10, 20, 0)), at(6, 11, 5, 0));
    EXPECT_EQ(endOfQuiet(overNight, at(6, 11, 4, 59, 59)), at(6, 11, 5, 0));
    EXPECT_EQ(endOfQuiet(overNight, at(6, 11, 5, 0)), std::nullopt);
    EXPECT_EQ(endOfQuiet(overNight, at(12, 31, 22, 0)), at(12, 31 + 1, 6, 0)); // over the year
}

TEST_F(QuietHoursTest, MayLieWithinADay) {
    EXPECT_EQ(endOfQuiet(atNoon, at(6, 10, 10, 29)), std::nullopt);
    EXPECT_EQ(endOfQuiet(atNoon, at(6, 10, 10, 30)), at(6, 10, 11, 0));
    EXPECT_EQ(endOfQuiet(atNoon, at(6, 10, 11, 0)), std::nullopt);
}

TEST_F(QuietHoursTest, EndAtTheirTimeWhenTheClocksChange) {
    EXPECT_EQ(endOfQuiet(overNight, at(3, 28, 23, 0)), at(3, 29, 5, 0));   // an hour shorter
    EXPECT_EQ(endOfQuiet(overNight, at(10, 24, 21, 0)), at(10, 25, 6, 0)); // an hour longer
}

// From 03:00 back to 02:00: 02:30 comes twice, and the end of the first must not lie behind.
TEST_F(QuietHoursTest, EndLaterAlsoInTheHourThatAClockRepeats) {
    const QuietHours hours{2h, 2h + 45min};
    for (const auto now : {at(10, 25, 0, 30), at(10, 25, 1, 30)}) {
        const auto end = endOfQuiet(hours, now);
        ASSERT_TRUE(end);
        EXPECT_GT(*end, now);
    }
}

TEST(MessageRetries, AreFiveWithinAnHour) {
    core::WallTime now(std::chrono::seconds(1000));
    const core::WallTime first = now;
    for (std::size_t failures = 1; failures <= 5; ++failures) {
        const auto next = nextAttempt(failures, now);
        ASSERT_TRUE(next);
        EXPECT_GT(*next, now);
        now = *next;
    }
    EXPECT_EQ(now - first, 60min);
    EXPECT_EQ(nextAttempt(6, now), std::nullopt);
    EXPECT_EQ(nextAttempt(0, now), std::nullopt);
}

} // namespace

} // namespace genv::messages
