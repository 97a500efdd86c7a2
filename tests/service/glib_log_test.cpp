// SPDX-License-Identifier: LGPL-2.1-or-later
// Warnings of libraries are logged, and cannot fill the log.
#include "service/loop/glib_log.hpp"
#include "tests/core/fakes.hpp"

#include <glib.h>
#include <gtest/gtest.h>

namespace genv::tests {
namespace {

TEST(GlibLog, WritesSoManyLinesOfALibraryInAMinuteAndCountsTheOthers) {
    FakeClock clock;
    SilentLog log;
    {
        service::GlibLog complaints(log, clock);
        for (int i = 0; i < 1000; ++i)
            complaints.take("polkit", core::Severity::Warning, "the caller\nis gone");
        complaints.take("GLib-GIO", core::Severity::Error, "something else");
        ASSERT_EQ(log.lines.size(), service::GlibLog::linesPerMinute + 1);
        EXPECT_EQ(log.lines.front(), "polkit: the caller\\x0ais gone");
        EXPECT_EQ(log.lines.back(), "GLib-GIO: something else");

        log.lines.clear();
        clock.pass(std::chrono::minutes{1});
        complaints.take("polkit", core::Severity::Warning, "again");
        EXPECT_EQ(log.lines, (std::vector<std::string>{"990 more lines of polkit were left out",
                                                       "polkit: again"}));
        log.lines.clear();
        for (int i = 0; i < 20; ++i)
            complaints.take("polkit", core::Severity::Warning, "again");
        log.lines.clear();
    }
    EXPECT_EQ(log.lines, std::vector<std::string>{"11 more lines of polkit were left out"});
}

TEST(GlibLog, HearsWhatLibrariesLog) {
    FakeClock clock;
    SilentLog log;
    const service::GlibLog complaints(log, clock);
    complaints.install();
    g_log("polkit", G_LOG_LEVEL_WARNING, "by %s", "the old way");
    g_log_structured("GLib-GIO", G_LOG_LEVEL_MESSAGE, "MESSAGE", "by %s", "the new one");
    g_log("polkit", G_LOG_LEVEL_DEBUG, "nobody asked");
    EXPECT_EQ(log.lines,
              (std::vector<std::string>{"polkit: by the old way", "GLib-GIO: by the new one"}));
}

} // namespace
} // namespace genv::tests
