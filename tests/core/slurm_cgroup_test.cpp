// SPDX-License-Identifier: LGPL-2.1-or-later
// Control groups of Slurm jobs, and control groups that only look similar.
#include "core/slurm_cgroup.hpp"
#include "core/slurm_job.hpp"

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
                             "/system.slice/gpu-1.example_2_slurmstepd.scope/job_12/x:y"})
        EXPECT_EQ(parseSlurmCgroup(std::string("0::") + path + "\n"),
                  (SlurmCgroup{12, std::nullopt}))
            << path;
}

TEST(SlurmCgroups, OfVersion1AreAJobsAndNameItsOwner) {
    EXPECT_EQ(parseSlurmCgroup("12:pids:/user.slice\n4:freezer:/slurm/uid_1001/job_7/step_0\n"),
              (SlurmCgroup{7, 1001}));
    EXPECT_EQ(parseSlurmCgroup("3:cpu,devices:/slurm_n1/uid_0/job_7\n"), (SlurmCgroup{7, 0}));
    EXPECT_EQ(parseSlurmCgroup("3:devices:/slurm/uid_1001/job_7/step_batch/task_0"),
              (SlurmCgroup{7, 1001}));
}

TEST(SlurmCgroups, OfAMachineWithBothVersionsAreTheOneThatSlurmUses) {
    EXPECT_EQ(parseSlurmCgroup("5:freezer:/slurm/uid_1001/job_7/step_0\n"
                               "4:devices:/slurm/uid_1001/job_7/step_0\n"
                               "1:name=systemd:/system.slice/slurmd.service\n"
                               "0::/system.slice/slurmd.service\n"),
              (SlurmCgroup{7, 1001}));
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
