// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/terminal/terminal_text.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

namespace genv::ctl {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr Time now{std::chrono::microseconds{1'700'000'000'000'000}};

TEST(RelativeTime, SaysTheLargestUnitThatFits) {
    EXPECT_EQ(relativeTime(now - seconds(1), now), "1 second ago");
    EXPECT_EQ(relativeTime(now - seconds(59), now), "59 seconds ago");
    EXPECT_EQ(relativeTime(now - seconds(60), now), "1 minute ago");
    EXPECT_EQ(relativeTime(now - minutes(27), now), "27 minutes ago");
    EXPECT_EQ(relativeTime(now - minutes(119), now), "1 hour ago");
    EXPECT_EQ(relativeTime(now - hours(7), now), "7 hours ago");
    EXPECT_EQ(relativeTime(now - hours(24), now), "1 day ago");
    EXPECT_EQ(relativeTime(now - hours(6 * 24 + 23), now), "6 days ago");
    EXPECT_EQ(relativeTime(now - hours(7 * 24), now), "1 week ago");
    EXPECT_EQ(relativeTime(now - hours(400 * 24), now), "57 weeks ago");
}

TEST(RelativeTime, HasNoNegativeTimes) {
    EXPECT_EQ(relativeTime(now, now), "0 seconds ago");
    EXPECT_EQ(relativeTime(now + hours(5), now), "0 seconds ago");
}

TEST(Timestamp, IsDayMonthYearInTheLocalTimeZone) {
    setenv("TZ", "UTC-2", 1);
    tzset();
    EXPECT_EQ(timestamp(now), "15/11/2023 00:13:20");
    setenv("TZ", "UTC", 1);
    tzset();
    EXPECT_EQ(timestamp(now), "14/11/2023 22:13:20");
    unsetenv("TZ");
    tzset();
}

TEST(Shown, LeavesWhatCanBeSeen) {
    EXPECT_EQ(shown("Norwegian \"Wood\" \\ grün 木 🙂"),
              "Norwegian \"Wood\" \\ grün 木 🙂");
}

TEST(Shown, EscapesWhatATerminalWouldObey) {
    EXPECT_EQ(shown("a\x1b[2Jb\r\n\x7f"), "a\\x1b[2Jb\\x0d\\x0a\\x7f");
    EXPECT_EQ(shown("\xc2\x9b"), "\\xc2\\x9b"); // C1: control sequence introducer
    EXPECT_EQ(shown("\xe2\x80\xae"
                    "x"),
              "\\xe2\\x80\\xaex");              // right-to-left override
    EXPECT_EQ(shown("\xff\xfe"), "\\xff\\xfe"); // not UTF-8
}

TEST(ParseNumber, TakesWholeNumbersOnly) {
    EXPECT_EQ(parseNumber("0"), 0U);
    EXPECT_EQ(parseNumber("4294967295"), 4294967295U);
    for (const char* text : {"", "-1", "+1", "1.5", "2x", " 2", "4294967296", "two"})
        EXPECT_EQ(parseNumber(text), std::nullopt) << text;
}

TEST(RelativeFuture, IsInTheLargestUnitThatFits) {
    EXPECT_EQ(relativeFuture(now + std::chrono::hours{2}, now), "in 2h");
    EXPECT_EQ(relativeFuture(now + std::chrono::hours{2} - std::chrono::milliseconds{10}, now),
              "in 2h");
    EXPECT_EQ(relativeFuture(now + std::chrono::minutes{119}, now), "in 1h 59min");
    EXPECT_EQ(relativeFuture(now + std::chrono::seconds{1}, now), "in 1s");
    EXPECT_EQ(relativeFuture(now - std::chrono::hours{1}, now), "in 0s");
}

TEST(Shortened, KeepsWhatFitsAndCountsCellsNotBytes) {
    EXPECT_EQ(cells("grün"), 4U);
    EXPECT_EQ(cells("木の"), 4U);
    EXPECT_EQ(shortened("12345", 5), "12345");
    EXPECT_EQ(shortened("123456", 5), "1234…");
    EXPECT_EQ(shortened("木の名前", 5), "木の…");
    EXPECT_EQ(shortened("木の名前", 4), "木…");
    EXPECT_EQ(shortened("12", 1), "…");
    EXPECT_EQ(shortened("12", 0), "");
}

} // namespace
} // namespace genv::ctl
