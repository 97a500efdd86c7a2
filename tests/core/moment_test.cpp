// SPDX-License-Identifier: LGPL-2.1-or-later
// Points in time as users type them, in a time zone with daylight saving time.
#include "core/base/error.hpp"
#include "core/base/moment.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

namespace genv::tests {
namespace {

using namespace std::chrono_literals;
using core::parseMoment;
using core::WallTime;

class Moments : public testing::Test {
  protected:
    Moments() {
        setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
        tzset();
    }
    ~Moments() override {
        unsetenv("TZ");
        tzset();
    }

    // Returns the seconds since the epoch of a point in time, parsed at 2026-03-30 13:37:42 CEST,
    // the day after the clocks were set forward.
    static std::int64_t secondsOf(const char* text) {
        const WallTime now{1'774'870'662s + 123'456us};
        const auto since = parseMoment(text, now).time_since_epoch();
        return std::chrono::floor<std::chrono::seconds>(since).count();
    }
};

TEST_F(Moments, AreReadAsJournalctlHasThem) {
    EXPECT_EQ(secondsOf("now"), 1'774'870'662);
    EXPECT_EQ(secondsOf("today"), 1'774'821'600);
    EXPECT_EQ(secondsOf("yesterday"), 1'774'821'600 - 23 * 3600) << "a day of 23 hours";
    EXPECT_EQ(secondsOf("tomorrow"), 1'774'821'600 + 24 * 3600);
    EXPECT_EQ(secondsOf("-2h"), 1'774'870'662 - 7200);
    EXPECT_EQ(secondsOf("2h ago"), 1'774'870'662 - 7200);
    EXPECT_EQ(secondsOf("1h 30min ago"), 1'774'870'662 - 5400);
    EXPECT_EQ(secondsOf("+10min"), 1'774'870'662 + 600);
    EXPECT_EQ(secondsOf("2026-03-30"), 1'774'821'600);
    EXPECT_EQ(secondsOf("2026-03-30 13:37"), 1'774'870'620);
    EXPECT_EQ(secondsOf("2026-03-30T13:37:42"), 1'774'870'662);
    EXPECT_EQ(secondsOf("Mon 2026-03-30 13:37:42"), 1'774'870'662) << "as it is printed";
    EXPECT_EQ(secondsOf("Tue 2026-03-31 13:37:42"), 1'774'870'662 + 24 * 3600)
        << "as it is printed";
    EXPECT_EQ(secondsOf("2026-01-01 00:00:01"), 1'767'222'001) << "winter";
    EXPECT_EQ(secondsOf("13:37"), 1'774'870'620);
    EXPECT_EQ(secondsOf("00:00:05"), 1'774'821'605);
    EXPECT_EQ(secondsOf("@0"), 0);
    EXPECT_EQ(secondsOf("@1700000000"), 1'700'000'000);
}

TEST_F(Moments, AreReadAsGenvPrintsThem) {
    EXPECT_EQ(secondsOf("30/03/2026 13:37:42"), 1'774'870'662);
    EXPECT_EQ(secondsOf("30/03/2026 13:37"), 1'774'870'620);
    EXPECT_EQ(secondsOf("30/03/2026"), 1'774'821'600);
    EXPECT_EQ(secondsOf("30/03/2026 23:59:59"), 1'774'821'600 + 24 * 3600 - 1);
    EXPECT_EQ(secondsOf("01/01/2026 00:00:01"), 1'767'222'001);
    EXPECT_EQ(secondsOf("30/03 13:37:42"), 1'774'870'662) << "of this year";
    EXPECT_EQ(secondsOf("1 week ago"), 1'774'870'662 - 7 * 24 * 3600);
    EXPECT_EQ(secondsOf("27 minutes ago"), 1'774'870'662 - 27 * 60);
}

TEST_F(Moments, RefuseWhatIsNone) {
    for (const char* text : {"",
                             "29/02/2026",
                             "03/30/2026",
                             "30/03/26",
                             "30/03/2026x",
                             "30/03/",
                             "30/",
                             "00/03",
                             " ",
                             "noon",
                             "2026-02-29",
                             "2026-13-01",
                             "2026-00-10",
                             "26-01-01",
                             "1969-12-31",
                             "2026-01-01 ",
                             "2026-01-01 24:00",
                             "2026-01-01 12:60",
                             "2026-01-01 12:00:60",
                             "2026-01-01 1:00",
                             "2026-01-01x",
                             "12",
                             "12:3",
                             "12:30x",
                             "-",
                             "ago",
                             " ago",
                             "-2x",
                             "2h",
                             "@",
                             "@-1",
                             "@x",
                             "@1.5",
                             "@99999999999999",
                             "-100w 100w 10000w",
                             "-90000d",
                             "+-2h",
                             "2026--1-01",
                             "2026-01-01 +1:00",
                             "today 12:00"}) {
        try {
            secondsOf(text);
            ADD_FAILURE() << '"' << text << "\" was taken";
        } catch (const core::Error& error) {
            EXPECT_EQ(error.code(), core::ErrorCode::InvalidArgs) << text;
        }
    }
}

} // namespace
} // namespace genv::tests
