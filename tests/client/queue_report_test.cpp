// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/reports/queue_report.hpp"
#include "client/genvctl/terminal/terminal_text.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <sstream>
#include <utility>

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

WaitingRequest waits(QueueDescription description) {
    WaitingRequest request;
    request.description = std::move(description);
    return request;
}

TEST(QueueReport, SaysWhatIsTakenForARequestAndWhatWasTakenFromOne) {
    constexpr std::uint64_t gibibyte = std::uint64_t{1} << 30;
    WaitingRequest taker = waits(bobs());
    taker.taking = Taking{{{"7", "training", "alice", 12 * gibibyte}, {"8", "", "carol", 0}},
                          {0, 1},
                          std::chrono::milliseconds{5200},
                          {}};
    WaitingRequest taken = waits(bobs());
    taken.description.entry.environment = "7";
    taken.description.entry.uid = 1001;
    taken.description.user = "alice";
    taken.resumes = true;
    taken.description.priority = 100;
    taken.problem = "process 12 uses MPS";
    ctl::LoanStates loans;
    loans.preemptible.insert("7");
    loans.parking["7"].takenBy = "bob";
    loans.parking["7"].state = "parked";
    loans.parking["7"].reason = "taken";
    const std::string since = ctl::shortTimestamp(now - std::chrono::minutes(5), now);
    const std::string standing = "   use 12.5 GPU hours, weight 100, overtaken 0 times\n";
    EXPECT_EQ(ctl::queueReport({taker, taken}, loans, now, 200),
              "1. bob(1002) waits for 4 GPUs, environment 71, since " + since + "\n" + standing +
                  "   parking \"training\" of alice, environment 8 of carol for GPUs 0,1: 12 GiB, "
                  "about 6 s; expected start unknown\n"
                  "1. alice(1001) waits to go on, for 4 GPUs, environment 7, since " +
                  since + "\n" + standing +
                  "   parked for a request of bob; others hold the GPUs; the last taking failed: "
                  "process 12 uses MPS; expected start unknown\n");
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
    EXPECT_EQ(ctl::queueReport({waits(first), waits(second)}, {}, now, 80),
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
    std::istringstream lines(ctl::queueReport({waits(bobs())}, {}, now, 40));
    for (std::string line; std::getline(lines, line);)
        EXPECT_LE(ctl::cells(line), 40U) << line;
}

TEST(QueueReport, ShowsNothingThatATerminalActsOn) {
    QueueDescription request = bobs();
    request.user = "\x1b[2Jbob";
    request.hold = {"\x1b[2J", 1, 1}; // of a service that is not to be believed
    EXPECT_EQ(ctl::queueReport({waits(request)}, {}, now, 80).find('\x1b'), std::string::npos);
}

} // namespace
} // namespace genv::tests
