// SPDX-License-Identifier: LGPL-2.1-or-later
// The Slurm jobs with a control group, found by the folders of the kernel's file system.
#include "service/processes/cgroup_folders.hpp"
#include "tests/service/mailbox.hpp"
#include "tests/service/temporary_folder.hpp"

#include <gtest/gtest.h>

namespace genv::tests {
namespace {

using Jobs = std::set<core::SlurmJobName>;

class CgroupFolders : public ::testing::Test {
  protected:
    void make(const std::string& path) const {
        std::filesystem::create_directories(folder.path() / path);
    }
    [[nodiscard]] core::JobCgroupList list() const {
        return service::listJobCgroups(folder.path());
    }

    TemporaryFolder folder;
};

TEST_F(CgroupFolders, OfAMachineWithoutSlurmSayNothingOfJobs) {
    make("system.slice/ssh.service");
    make("user.slice/user-1001.slice/slurmstepd.scope/job_9");
    const auto found = list();
    EXPECT_TRUE(found.isRead);
    EXPECT_FALSE(found.hasSlurm);
    EXPECT_EQ(found.jobs, Jobs{});
}

TEST_F(CgroupFolders, OfVersion2AreThoseBelowTheScopeOfEachNode) {
    make("system.slice/slurmstepd.scope/job_12/step_0");
    make("system.slice/slurmstepd.scope/system");
    make("system.slice/n1_slurmstepd.scope/job_13");
    make("system.slice/evilslurmstepd.scope/job_14");
    EXPECT_EQ(list().jobs, (Jobs{12U, 13U}));
    EXPECT_TRUE(list().hasSlurm);
    folder.write("system.slice/slurmstepd.scope/cgroup.procs", "1");
    EXPECT_TRUE(list().isRead) << "a file is no group";
}

TEST_F(CgroupFolders, OfVersion2AreThoseWithASluidForTheirName) {
    make("system.slice/n1_slurmstepd.scope/sEKNKTV3WPV500/step_0");
    make("system.slice/n1_slurmstepd.scope/slurmd");
    make("system.slice/n1_slurmstepd.scope/system/s231M8CW89AG00");
    make("system.slice/n1_slurmstepd.scope/s231m8cw89ag00");
    make("system.slice/s231M8CW89AG00");
    make("freezer/slurm/uid_1001/s231M8CW89AG00");
    EXPECT_EQ(list().jobs, Jobs{*core::parseSluid("sEKNKTV3WPV500")});
}

TEST_F(CgroupFolders, OfVersion1AreThoseOfFreezerAndDevices) {
    make("freezer/slurm/uid_1001/job_12/step_0");
    make("devices/slurm_n1/uid_1002/job_13");
    make("memory/slurm/uid_1002/job_14");
    make("unified/system.slice/slurmstepd.scope/job_15");
    EXPECT_EQ(list().jobs, (Jobs{12U, 13U, 15U}));
}

TEST_F(CgroupFolders, WithoutAJobSayThatThereIsNone) {
    make("system.slice/slurmstepd.scope");
    EXPECT_TRUE(list().hasSlurm);
    EXPECT_EQ(list().jobs, Jobs{});
}

TEST_F(CgroupFolders, AreAnsweredOnTheLoop) {
    make("system.slice/slurmstepd.scope/job_12");
    Mailbox mailbox;
    service::CgroupFolders folders(mailbox.post(), folder.path());
    Jobs found;
    folders.list([&](const core::JobCgroupList& list) { found = list.jobs; });
    EXPECT_EQ(found, Jobs{}) << "never before it returns";
    mailbox.take();
    EXPECT_EQ(found, Jobs{12U});
}

} // namespace
} // namespace genv::tests
