// SPDX-License-Identifier: LGPL-2.1-or-later
// The sentences at users' prompts and in notices, word for word.
#include "core/sentences/sentences.hpp"
#include "tests/core/fakes.hpp"

#include <gtest/gtest.h>

namespace genv::tests {
namespace {

using namespace std::chrono_literals;

TEST(Sentences, CountDevicesAndProcesses) {
    EXPECT_EQ(core::nameGpus({1}), "GPU 1");
    EXPECT_EQ(core::nameGpus({0, 1}), "GPUs 0,1");
    EXPECT_EQ(core::nameGpus({0, 1, 2, 3, 5, 6, 8}), "GPUs 0-3,5,6,8");
    EXPECT_EQ(core::nameGpus({7, 8, 9}), "GPUs 7-9");
    EXPECT_EQ(core::nameMemory(core::Bytes{80ULL << 30}), "80 GiB");
    EXPECT_EQ(core::nameMemory(core::Bytes{500'000'000'000}), "500 GB");
    EXPECT_EQ(core::nameMemory(core::Bytes{512ULL << 20}), "512 MiB");
    EXPECT_EQ(core::nameMemory(core::Bytes{1536ULL << 20}), "1.5 GiB");
    core::NamedProcesses processes{{12, ""}};
    EXPECT_EQ(core::nameProcesses(processes), "process 12");
    processes[11] = "python3";
    EXPECT_EQ(core::nameProcesses(processes), "processes 11 (python3), 12");
    EXPECT_EQ(core::nameProcesses({{7, "\x1b[2J"}}), "process 7 (\\x1b[2J)");
    for (core::Pid pid = 13; pid <= 20; ++pid)
        processes[pid] = "";
    EXPECT_EQ(core::nameProcesses(processes),
              "processes 11 (python3), 12, 13, 14, 15, 16, 17, 18 and 2 more");
}

TEST(Sentences, SayWhoOrWhatTookDevicesAway) {
    const std::vector<std::pair<const char*, const char*>> ofOne{
        {"admin", "GPU 1 was taken away by an administrator (root)"},
        {"rule:env-memory", "GPU 1 was taken away by the rule env-memory"},
        {"expired", "GPU 1 was taken away because its lease ended"},
        {"idle", "GPU 1 was taken away because it was idle for too long"},
        {"device-lost", "GPU 1 was taken away because the driver no longer has it"},
        {"of a later version", "GPU 1 was taken away (of a later version)"},
    };
    for (const auto& [reason, sentence] : ofOne)
        EXPECT_EQ(core::describeChange({1}, false, reason, "root"), sentence);
    EXPECT_EQ(core::describeChange({0, 1}, true, "admin", "carol"),
              "GPUs 0,1 were attached by an administrator (carol)");
    EXPECT_EQ(core::describeChange({0, 1}, false, "expired", ""),
              "GPUs 0,1 were taken away because their lease ended");
    EXPECT_EQ(core::describeChange({0, 1}, false, "device-lost", ""),
              "GPUs 0,1 were taken away because the driver no longer has them");
}

TEST(Sentences, SayHowAnEnvironmentOrAWaitEnded) {
    EXPECT_EQ(core::describeEnd("expired", ""),
              "the environment was ended because its lease ended");
    EXPECT_EQ(core::describeEnd("idle", ""),
              "the environment was ended because it was idle for too long");
    EXPECT_EQ(core::describeGrant({2}, 90s), "GPU 2 was granted after 1min 30s in the queue");
    EXPECT_EQ(core::describeGrant({0, 2}, 1h), "GPUs 0,2 were granted after 1h in the queue");
}

TEST(Sentences, SayWhatEndedProcesses) {
    EXPECT_EQ(core::describeTermination({{7, "python3"}}, {1}, "admin", "root"),
              "process 7 (python3) on GPU 1 was ended by an administrator (root)");
    EXPECT_EQ(core::describeTermination({{7, ""}, {8, ""}}, {0, 1}, "expired", ""),
              "processes 7, 8 on GPUs 0,1 were ended because the lease ended");
    EXPECT_EQ(core::describeTermination({{7, ""}}, {}, "idle", ""),
              "process 7 was ended because the GPU was idle for too long");
}

TEST(Sentences, SayWhenSomethingEndsAndHowToProlongIt) {
    const core::WallTime end{std::chrono::seconds{1'600'000'000}};
    const std::string when = core::nameTime(end);
    EXPECT_EQ(core::describeLeaseEnding({}, end),
              "this environment ends at " + when + "; \"genv extend\" prolongs it");
    EXPECT_EQ(core::describeLeaseEnding({3}, end),
              "the lease of GPU 3 ends at " + when + "; \"genv extend\" prolongs it");
    EXPECT_EQ(core::describeWarning("too many devices", "max-devices-per-user", end),
              "too many devices; the rule max-devices-per-user acts at " + when);
    EXPECT_EQ(core::describeWarning("it is idle", "idle-timeout", std::nullopt),
              "it is idle (rule idle-timeout)");
    EXPECT_EQ(core::describeChange({1}, false, "job", "root"),
              "GPU 1 was taken away for a Slurm job");
}

TEST(Sentences, SayHowADeviceIs) {
    EXPECT_EQ(core::describeHealth(1, "ok"), "GPU 1 is healthy again");
    EXPECT_EQ(core::describeHealth(1, "stale"),
              "GPU 1 may be unhealthy: the driver does not answer");
    EXPECT_EQ(core::describeHealth(1, "lost"), "GPU 1 is lost: the driver can no longer reach it");
    EXPECT_EQ(core::describeHealth(1, "xid-79"), "GPU 1 is unhealthy: the driver reported XID 79");
    EXPECT_EQ(core::describeHealth(1, "warm"), "GPU 1 is unhealthy (warm)");
}

TEST(Sentences, SayHowMuchOfAShareIsUsed) {
    EXPECT_EQ(core::describeMemory(0, {2048ULL << 20}, {1ULL << 30}),
              "2 GiB of GPU 0's memory is used, 1 GiB over the share of 1 GiB");
    EXPECT_EQ(core::describeMemory(0, {1000ULL << 20}, {1ULL << 30}),
              "1000 MiB of the share of 1 GiB of GPU 0's memory is used");
    EXPECT_EQ(core::describeSharing(0, "20", "bob"),
              "GPU 0 is now shared with bob (environment 20)");
    EXPECT_EQ(core::describeLingering({0}, {12}),
              "its last shell is gone, and process 12 still uses GPU 0");
    EXPECT_EQ(core::describeKept("20", {0}, {12}),
              "it keeps GPU 0, which process 12 still uses; \"genvctl deactivate --id 20 --kill\" "
              "ends it");
    EXPECT_EQ(core::describeKept("20", {0, 1}, {12, 13}),
              "it keeps GPUs 0,1, which processes 12, 13 still use; \"genvctl deactivate --id 20 "
              "--kill\" ends them");
}

TEST(Sentences, SayWhatTheKernelRefusedAndHowToGetIt) {
    EXPECT_EQ(core::describeRefusedOpen(1, {{12, "python3"}}),
              "process 12 (python3) was refused GPU 1, which you do not hold");
    EXPECT_EQ(core::describeRefusedOpen(1, {{0, ""}}),
              "one of your processes was refused GPU 1, which you do not hold");
    EXPECT_EQ(core::adviseOnRefusedOpen(1, false), "\"genv attach --index 1\" attaches it");
    EXPECT_EQ(core::adviseOnRefusedOpen(1, true),
              "others hold it: \"genv attach --index 1 --wait\" waits for it");
}

TEST(Sentences, QuoteOthersSoThatNoTerminalObeysThem) {
    const std::string evil = "\x1b[2J\n";
    const core::WallTime now{};
    for (const std::string& sentence :
         {core::describeEnd(evil, "root"), core::describeEnd("rule:" + evil, "root"),
          core::describeWarning(evil, evil, now), core::describeHealth(0, evil),
          core::describeHealth(0, "xid-" + evil), core::describeSharing(0, evil, "bob"),
          core::describeRefusedOpen(0, {{1, evil}})}) {
        EXPECT_EQ(sentence.find_first_of("\x1b\n"), std::string::npos) << sentence;
        EXPECT_NE(sentence.find("\\x1b"), std::string::npos) << sentence;
    }
}

} // namespace
} // namespace genv::tests
