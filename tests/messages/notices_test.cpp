// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/messages/model/letter.hpp"
#include "client/messages/model/message_event.hpp"
#include "client/messages/model/told_notices.hpp"
#include "core/sentences/sentences.hpp"

#include <gtest/gtest.h>

namespace genv::messages {

namespace {

using namespace std::chrono_literals;

Notice notice(const std::string& kind, std::map<std::string, std::string> details,
              const std::string& environment = "7") {
    Notice notice;
    notice.kind = kind;
    notice.environment = environment;
    notice.details = std::move(details);
    return notice;
}

std::string told(const Notice& notice) {
    const auto event = eventOf(notice, core::WallTime(1s));
    return event ? std::string(nameOf(event->kind)) + ": " + event->status : "";
}

TEST(NoticesBeyondTheDesktop, HaveOneKindEach) {
    EXPECT_EQ(told(notice("granted", {{"devices", "0,1"}, {"waited", "60"}})),
              "granted: granted after a wait");
    EXPECT_EQ(told(notice("detached", {{"reason", "admin"}})),
              "taken: taken away by an administrator");
    EXPECT_EQ(told(notice("detached", {{"reason", "rule:max-devices"}})),
              "taken: taken away by the rule max-devices");
    EXPECT_EQ(told(notice("detached", {{"reason", "idle"}})),
              "taken: taken away because they were idle");
    EXPECT_EQ(told(notice("detached", {{"reason", "expired"}})), "lease: the lease has ended");
    EXPECT_EQ(told(notice("ended", {{"reason", "expired"}})), "lease: the lease has ended");
    EXPECT_EQ(told(notice("ended", {{"reason", "admin"}})), "taken: ended by an administrator");
    EXPECT_EQ(told(notice("expiring", {{"left", "600"}})), "lease: the lease ends in 10min");
    EXPECT_EQ(told(notice("warning", {{"rule", "max-lifetime"}, {"left", "30"}})),
              "lease: the longest lifetime ends in 30s");
    EXPECT_EQ(told(notice("warning", {{"rule", "max-preemptible-devices"}, {"left", "30"}})),
              "lease: over the quota, since it could not be parked for others; it ends in 30s");
    EXPECT_EQ(told(notice("parked", {{"memory", "1073741824"}})),
              "parked: parked: 1 GiB moved to host memory");
    EXPECT_EQ(told(notice("parked", {{"memory", "1073741824"}, {"reason", "taken"}})),
              "parked: parked for another request: 1 GiB moved to host memory; its programs go on "
              "by themselves when those GPUs are free again");
    EXPECT_EQ(told(notice("loan-ending", {{"taker", "0"}, {"left", "60"}})),
              "taken: it cannot be parked for another request, and ends in 1min");
    EXPECT_EQ(told(notice("ended", {{"reason", "preempted"}})),
              "taken: ended for another request, since it could not be parked");
    EXPECT_EQ(told(notice("resumed", {})), "parked: resumed");
    EXPECT_EQ(told(notice("parking-failed", {{"message", "process 7 (secret)"}})),
              "parked: could not be parked");
    EXPECT_EQ(told(notice("resume-delayed", {{"message", "process 7 (secret)"}})),
              "parked: its GPUs are attached, but it waits for room on them");
    EXPECT_EQ(told(notice("parked-long", {{"left", "60"}})),
              "lease: parked for too long; it ends in 1min");
    EXPECT_EQ(told(notice("process-lost", {{"command", "secret"}})),
              "taken: the driver lost a process when it resumed");
    EXPECT_EQ(told(notice("memory", {{"used", "3221225472"}, {"share", "4294967296"}})),
              "memory: 3 GiB of a share of 4 GiB is used");
    EXPECT_EQ(told(notice("device-health", {{"health", "xid-79"}})),
              "unhealthy: unhealthy: xid-79");
    EXPECT_EQ(told(notice("detached", {{"reason", "device-lost"}})), "unhealthy: lost");
    for (const char* kind : {"attached", "device-occupied", "lingering", "over-subscribed",
                             "open-refused", "something-new"})
        EXPECT_EQ(told(notice(kind, {})), "") << kind;
    EXPECT_EQ(told(notice("warning", {{"rule", "max-devices"}})), "");
}

TEST(NoticesBeyondTheDesktop, NameNoCommandAndNoOtherUser) {
    const auto event = eventOf(notice("process-terminated", {{"pid", "123"},
                                                             {"command", "secret-program"},
                                                             {"devices", "1,0"},
                                                             {"reason", "admin"},
                                                             {"actor", "1002"},
                                                             {"name", "tr\nain"}}),
                               core::WallTime(1s));
    ASSERT_TRUE(event);
    EXPECT_EQ(encode(*event),
              "{\"environment\":\"7\",\"gpus\":[0,1],\"kind\":\"taken\",\"name\":\"tr\\\\x0aain\","
              "\"status\":\"a process was ended by an administrator\",\"time\":1000000}");
}

TEST(NoticesBeyondTheDesktop, NameTheTakerOnlyAmongNames) {
    const auto event = eventOf(notice("parked", {{"reason", "taken"},
                                                 {"memory", "1073741824"},
                                                 {"devices", "0"},
                                                 {"taker", "0"},
                                                 {"expected", "1790000000000000"}}),
                               core::WallTime(1s));
    ASSERT_TRUE(event);
    EXPECT_EQ(decodeEvent(encode(*event)), event);
    const std::string told =
        "parked for another request: 1 GiB moved to host memory; its programs go on by themselves "
        "when those GPUs are free again, expected about " +
        core::nameTime(core::fromMicroseconds(1790000000000000));
    EXPECT_EQ(sentenceOf(*event, true), "Environment 7: " + told + " (GPU 0, requested by root)");
    EXPECT_EQ(sentenceOf(*event, false), "Environment 7: " + told + " (GPU 0)");
}

TEST(NoticesBeyondTheDesktop, LeaveOutTheGrantsOfArrays) {
    EXPECT_NE(told(notice("granted", {}, "job-17")), "");
    EXPECT_EQ(told(notice("granted", {}, "job-17.3")), "");
    EXPECT_NE(told(notice("granted", {}, "a.b")), "");
    EXPECT_NE(told(notice("detached", {{"reason", "admin"}}, "job-17.3")), "");
}

JobFacts job(const std::string& state, const std::string& reason = "", std::int32_t status = -1) {
    return {.number = 17,
            .name = "sweep",
            .state = state,
            .reason = reason,
            .gpus = 2,
            .tasks = 1,
            .started = 1'000'000,
            .ended = 61'000'000,
            .status = status};
}

TEST(EndsOfJobs, SayHow) {
    const auto done = eventOf(job("done", "", 0));
    ASSERT_TRUE(done);
    EXPECT_EQ(done->kind, Kind::JobEnded);
    EXPECT_EQ(done->status, "done");
    EXPECT_EQ(done->duration, 60s);
    EXPECT_EQ(done->gpuCount, 2U);
    const auto failed = eventOf(job("failed", "exit status 3", 3));
    ASSERT_TRUE(failed);
    EXPECT_EQ(failed->kind, Kind::JobFailed);
    EXPECT_EQ(failed->status, "exit status 3");
    EXPECT_EQ(eventOf(job("failed", "ended by SIGKILL", 137))->status, "ended by SIGKILL");
    EXPECT_EQ(eventOf(job("lost"))->kind, Kind::JobFailed);
    EXPECT_EQ(eventOf(job("canceled"))->kind, Kind::JobEnded);
    for (const char* state : {"waiting", "held", "running"})
        EXPECT_EQ(eventOf(job(state)), std::nullopt) << state;
}

TEST(EndsOfJobs, QuoteNoProgram) {
    EXPECT_EQ(eventOf(job("failed", "cannot run secret-program", 127))->status,
              "failed with status 127");
}

TEST(EndsOfJobs, CountTheTasksOfAnArray) {
    JobFacts array = job("failed");
    array.isArray = true;
    array.tasks = 200;
    array.done = 190;
    array.failed = 7;
    array.canceled = 3;
    EXPECT_EQ(eventOf(array)->status, "190/200 done, 7 failed, 3 canceled");
}

} // namespace

} // namespace genv::messages
