// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/reports/queue_report.hpp"
#include "client/genvctl/terminal/text.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <sstream>

namespace genv::tests {
namespace {

const Time now{std::chrono::hours{480'000}};

QueueDescription bobs() {
    QueueDescription request;
    request.entry = {9, "71", 1002, 4, now - std::chrono::minutes{5}};
    request.position = 1;
    request.user = "bob";
    request.waitsFor = "devices";
    request.order = "fair";
    request.useGpuSeconds = 45'000;
    request.weight = 100;
    return request;
}

TEST(QueueReport, SaysWhereEachRequestStandsAndWhatItWaitsFor) {
    QueueDescription first = bobs();
    first.overtakings = 1;
    first.firstSince = now;
    first.expectedStart = now;
    QueueDescription second = bobs();
    second.position = 2;
    second.order = "fifo";
    second.priority = -5;
    second.waitsFor = "quota";
    second.hold = {"MaxDevicesPerUser", 2, 2};
    EXPECT_EQ(ctl::queueReport({first, second}, now, 80),
              "1. bob(1002) waits for 4 GPUs, environment 71, since " +
                  ctl::shortTimestamp(now - std::chrono::minutes(5), now) +
                  "\n"
                  "   use 12.5 GPU hours, weight 100, overtaken 1 time, first since " +
                  ctl::shortTimestamp(now, now) +
                  "\n"
                  "   others hold the GPUs; expected start about " +
                  ctl::shortTimestamp(now, now) +
                  "\n"
                  "2. bob(1002) waits for 4 GPUs, environment 71, since " +
                  ctl::shortTimestamp(now - std::chrono::minutes(5), now) +
                  "\n"
                  "   use 12.5 GPU hours, weight 100, priority -5\n"
                  "   held back: bob holds 2 GPUs and may have 2 (MaxDevicesPerUser); expected\n"
                  "   start unknown\n");
}

TEST(QueueReport, FitsANarrowTerminal) {
    std::istringstream lines(ctl::queueReport({bobs()}, now, 40));
    for (std::string line; std::getline(lines, line);)
        EXPECT_LE(ctl::cells(line), 40U) << line;
}

TEST(QueueReport, ShowsNothingThatATerminalActsOn) {
    QueueDescription request = bobs();
    request.user = "\x1b[2Jbob";
    request.hold = {"\x1b[2J", 1, 1}; // of a service that is not to be believed
    EXPECT_EQ(ctl::queueReport({request}, now, 80).find('\x1b'), std::string::npos);
}

} // namespace
} // namespace genv::tests
