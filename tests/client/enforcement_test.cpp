// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/reports/enforcement_report.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>

namespace genv::ctl {
namespace {

ExitStatus refusal(const std::string& report) {
    try {
        reportToSend(report, true);
    } catch (const Failure& failure) {
        return failure.status();
    }
    return ExitStatus::Ok;
}

TEST(Enforcement, SendsAReportAsItIs) {
    EXPECT_EQ(reportToSend(R"({"terminate": {"processes": [{"pid": 7, "eid": "a"}]}})", true),
              R"({"terminate":{"processes":[{"pid":7,"eid":"a"}]}})");
}

TEST(Enforcement, SaysInTheReportThatNothingIsToBeSignalled) {
    EXPECT_EQ(reportToSend(R"({"detach": {}})", false),
              R"({"detach":{},"terminate_processes":false})");
    EXPECT_EQ(reportToSend(R"({"terminate_processes": true, "detach": {}})", false),
              R"({"terminate_processes":false,"detach":{}})");
}

TEST(Enforcement, LeavesWhatAReportSaysOfSignalsAlone) {
    EXPECT_EQ(reportToSend(R"({"terminate_processes": false})", true),
              R"({"terminate_processes":false})");
}

TEST(Enforcement, RefusesWhatIsNoReport) {
    for (const char* text : {"", "{", "[]", "7", "null", "{} {}", "{\"a\": \"\xff\"}"})
        EXPECT_EQ(refusal(text), ExitStatus::Usage) << text;
    EXPECT_EQ(refusal("{\"a\": " + std::string(1'000'000, '[')), ExitStatus::Usage);
    EXPECT_EQ(refusal("{}"), ExitStatus::Ok);
}

TEST(Enforcement, ReadsAReportToItsEndAndNoneThatIsTooLong) {
    std::array<int, 2> ends{};
    ASSERT_EQ(pipe(ends.data()), 0);
    ASSERT_EQ(write(ends[1], "{}", 2), 2);
    close(ends[1]);
    EXPECT_EQ(readReport(ends[0]), "{}");
    close(ends[0]);

    FILE* endless = fopen("/dev/zero", "r");
    ASSERT_NE(endless, nullptr);
    EXPECT_THROW(readReport(fileno(endless)), Failure);
    fclose(endless);
}

TEST(Enforcement, KnowsWhichMessagesAreNoResults) {
    for (const char* message : {"[ERROR] Not enough permissions to terminate process 7",
                                "[WARNING] a", "[DEBUG] Process 7 already terminated"})
        EXPECT_TRUE(isForStandardError(message)) << message;
    for (const char* message : {"", "Terminating process 7", "[host] Process 7", " [ERROR] a",
                                "Detaching environment [ERROR] of user a"})
        EXPECT_FALSE(isForStandardError(message)) << message;
}

TEST(Enforcement, TerminatesUnlessToldNotTo) {
    unsetenv("GENV_TERMINATE_PROCESSES");
    EXPECT_TRUE(mayTerminateProcesses());
    setenv("GENV_TERMINATE_PROCESSES", "1", 1);
    EXPECT_TRUE(mayTerminateProcesses());
    setenv("GENV_TERMINATE_PROCESSES", "0", 1);
    EXPECT_FALSE(mayTerminateProcesses());
    unsetenv("GENV_TERMINATE_PROCESSES");
}

TEST(Enforcement, WritesActionsAsJson) {
    EXPECT_EQ(toJson(std::vector<EnforcementAction>{}).dump(), "[]");
    EXPECT_EQ(toJson(std::vector{EnforcementAction{"terminate", "r", "m", "alice", 7, "e", {0, 1}}})
                  .dump(),
              R"([{"kind":"terminate","rule":"r","message":"m","user":"alice","pid":7,)"
              R"("environment":"e","devices":[0,1]}])");
    EXPECT_EQ(
        toJson(std::vector{EnforcementAction{"finding", "r", "m", "alice", {}, {}, {}}}).dump(),
        R"([{"kind":"finding","rule":"r","message":"m","user":"alice","pid":null,)"
        R"("environment":null,"devices":[]}])");
}

} // namespace
} // namespace genv::ctl
