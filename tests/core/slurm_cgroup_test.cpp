// SPDX-License-Identifier: LGPL-2.1-or-later
// Control groups of Slurm jobs, and control groups that only look similar.
#include "core/model/slurm_cgroup.hpp"
#include "core/model/slurm_job.hpp"

#include <gtest/gtest.h>

#include <string>

namespace genv::tests {
namespace {

using core::parseSlurmCgroup;
using core::SlurmCgroup;

TEST(SlurmCgroups, OfVersion2AreAJobs) {
    for (const char* path : {"/system.slice/slurmstepd.scope/job_12/step_0/user/task_0",
                             "/system.slice/slurmstepd.scope/job_12/step_extern/user/task_special",
                             "/system.slice/slurmstepd.scope/job_12",
                             "/system.slice/n1_slurmstepd.scope/job_12/step_0",
                             "/system.slice/gpu-10.example_2_slurmstepd.scope/job_12/x:y"})
        EXPECT_EQ(parseSlurmCgroup(std::string("0::") + path + "\n"),
                  (SlurmCgroup{12U, std::nullopt}))
            << path;
}

TEST(SlurmCgroups, OfVersion2HaveASluidForTheirNameFromSlurm2605) {
    const core::Sluid sluid = *core::parseSluid("sEKNKTV3WPV500");
    for (const char* path : {"/system.slice/slurmstepd.scope/sEKNKTV3WPV500/step_0/user/task_0",
                             "/system.slice/slurmstepd.scope/sEKNKTV3WPV500",
                             "/system.slice/n1_slurmstepd.scope/sEKNKTV3WPV500/step_extern/user"})
        EXPECT_EQ(parseSlurmCgroup(std::string("0::") + path + "\n"),
                  (SlurmCgroup{sluid, std::nullopt}))
            << path;
}

TEST(SlurmCgroups, WithNamesThatResembleASluidAreNone) {
    for (const char* line :
         {"0::/user.slice/user-1001.slice/slurmstepd.scope/sEKNKTV3WPV500",
          "0::/user.slice/system.slice/slurmstepd.scope/sEKNKTV3WPV500",
          "0::/system.slice/sEKNKTV3WPV500", "0::/sEKNKTV3WPV500",
          "0::/system.slice/x.service/slurmstepd.scope/sEKNKTV3WPV500",
          "0::/system.slice/evilslurmstepd.scope/sEKNKTV3WPV500",
          "0::/system.slice/slurmstepd.scope/system/sEKNKTV3WPV500",
          "0::/system.slice/slurmstepd.scope/job_sEKNKTV3WPV500",
          "0::/system.slice/slurmstepd.scope/sEKNKTV3WPV500 (deleted)",
          "0::/system.slice/slurmstepd.scope/seknktv3wpv500",
          "0::/system.slice/slurmstepd.scope/SEKNKTV3WPV500",
          "0::/system.slice/slurmstepd.scope/sEKNKTV3WPV50",
          "0::/system.slice/slurmstepd.scope/slurmd", "0::/system.slice/slurmstepd.scope/system",
          "4:freezer:/slurm/uid_1001/sEKNKTV3WPV500", "4:freezer:/slurm/sEKNKTV3WPV500",
          "4:freezer:/system.slice/slurmstepd.scope/sEKNKTV3WPV500"})
        EXPECT_EQ(parseSlurmCgroup(line), std::nullopt) << line;
}

TEST(SlurmCgroups, OfVersion1AreAJobsAndNameItsOwner) {
    EXPECT_EQ(parseSlurmCgroup("12:pids:/user.slice\n4:freezer:/slurm/uid_1001/job_7/step_0\n"),
              (SlurmCgroup{7U, 1001}));
    EXPECT_EQ(parseSlurmCgroup("3:cpu,devices:/slurm_n1/uid_0/job_7\n"), (SlurmCgroup{7U, 0}));
    EXPECT_EQ(parseSlurmCgroup("3:devices:/slurm/uid_1001/job_7/step_batch/task_0"),
              (SlurmCgroup{7U, 1001}));
}

TEST(SlurmCgroups, OfAMachineWithBothVersionsAreTheOneThatSlurmUses) {
    EXPECT_EQ(parseSlurmCgroup("5:freezer:/slurm/uid_1001/job_7/step_0\n"
                               "4:devices:/slurm/uid_1001/job_7/step_0\n"
                               "1:name=systemd:/system.slice/slurmd.service\n"
                               "0::/system.slice/slurmd.service\n"),
              (SlurmCgroup{7U, 1001}));
    EXPECT_EQ(
        parseSlurmCgroup("5:freezer:/slurm/uid_1001/job_7\n4:devices:/slurm/uid_1001/job_8\n"),
        std::nullopt)
        << "two jobs at once are none";
}

TEST(SlurmCgroups, BeginAtTheRootOfTheHierarchy) {
    for (const char* line :
         {"0::/user.slice/user-1001.slice/user@1001.service/system.slice/slurmstepd.scope/job_12",
          "0::/user.slice/slurmstepd.scope/job_12",
          "0::/system.slice/x.service/slurmstepd.scope/job_12",
          "0::/../system.slice/slurmstepd.scope/job_12", "0::system.slice/slurmstepd.scope/job_12",
          "0::/system.slice//slurmstepd.scope/job_12",
          "4:freezer:/user.slice/slurm/uid_1001/job_12", "4:freezer:slurm/uid_1001/job_12"})
        EXPECT_EQ(parseSlurmCgroup(line), std::nullopt) << line;
}

TEST(SlurmCgroups, OfOtherNamesAndHierarchiesAreNone) {
    for (const char* line : {"",
                             "\n",
                             "0",
                             "0:",
                             "0::",
                             "0::/",
                             "0::/system.slice",
                             "0::/system.slice/slurmstepd.scope",
                             "0::/system.slice/slurmstepd.scope/system",
                             "0::/system.slice/slurmstepd.scope/job_",
                             "0::/system.slice/slurmstepd.scope/job_0",
                             "0::/system.slice/slurmstepd.scope/job_012",
                             "0::/system.slice/slurmstepd.scope/job_-1",
                             "0::/system.slice/slurmstepd.scope/job_1x",
                             "0::/system.slice/slurmstepd.scope/job_4294967296",
                             "0::/system.slice/slurmstepd.scope/job_12 (deleted)",
                             "0::/system.slice/evilslurmstepd.scope/job_12",
                             "0::/system.slice/_slurmstepd.scope/job_12",
                             "0::/system.slice/a b_slurmstepd.scope/job_12",
                             "1::/system.slice/slurmstepd.scope/job_12",
                             "0:freezer:/system.slice/slurmstepd.scope/job_12",
                             "4:memory:/slurm/uid_1001/job_12",
                             "4:name=freezer:/slurm/uid_1001/job_12",
                             "4:freezer:/slurmy/uid_1001/job_12",
                             "4:freezer:/slurm_/uid_1001/job_12",
                             "4:freezer:/slurm/uid_/job_12",
                             "4:freezer:/slurm/uid_-1/job_12",
                             "4:freezer:/slurm/job_12",
                             "4:freezer:/slurm/uid_1001"})
        EXPECT_EQ(parseSlurmCgroup(line), std::nullopt) << line;
}

TEST(Sluids, AreReadExactlyAsSlurmWritesThem) {
    // Recorded from Slurm 26.05.5.
    EXPECT_EQ(core::parseSluid("s231M8CW89AG00"), core::Sluid{0x2186'8867'1095'4000});
    EXPECT_EQ(core::parseSluid("s0000000000001"), core::Sluid{1});
    EXPECT_EQ(core::parseSluid("sFZZZZZZZZZZZZ"), core::Sluid{UINT64_MAX});
    for (const char* text : {"s231M8CW89AG00", "s0000000000001", "sFZZZZZZZZZZZZ"})
        EXPECT_EQ(core::toString(*core::parseSluid(text)), text);
    for (const char* text :
         {"", "s", "s0000000000000", "sG000000000000", "sZZZZZZZZZZZZZ", "s231M8CW89AG0",
          "s231M8CW89AG000", "231M8CW89AG00", "S231M8CW89AG00", "s231m8cw89ag00", "s231M8CW89AGI0",
          "s231M8CW89AGL0", "s231M8CW89AGO0", "s231M8CW89AGU0", "s231M8CW89AG-0", "s231M8CW89A 00",
          "s231M8CW89AG\xc3\xa9", "s231M8CW89AG\x1b[", "job_231M8CW89A"})
        EXPECT_EQ(core::parseSluid(text), std::nullopt) << text;
    EXPECT_EQ(core::parseSluid(std::string_view("s231M8CW89AG\0\0", 14)), std::nullopt);
}

TEST(SlurmJobIds, AreNumbersAsSlurmWritesThem) {
    EXPECT_EQ(core::parseSlurmJobId("1"), 1U);
    EXPECT_EQ(core::parseSlurmJobId("4294967295"), 4294967295U);
    for (const char* text : {"", "0", "00", "012", "-1", "+1", " 1", "1 ", "0x1", "12_3", "12.0",
                             "4294967296", "99999999999999999999", "\x1b"})
        EXPECT_EQ(core::parseSlurmJobId(text), std::nullopt) << text;
    EXPECT_EQ(core::environmentIdOf(12), "slurm-12");
    EXPECT_TRUE(core::isJobEnvironmentId("slurm-anything"));
    EXPECT_FALSE(core::isJobEnvironmentId("slurm"));
    EXPECT_FALSE(core::isJobEnvironmentId("my-slurm-1"));
}

} // namespace
} // namespace genv::tests
