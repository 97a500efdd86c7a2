// SPDX-License-Identifier: LGPL-2.1-or-later
// Whether the kernel's counters say that a job used more memory than it may.
#include "client/jobs/runner/memory.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

namespace genv::jobs {

namespace {

class MemoryTest : public testing::Test {
  protected:
    MemoryTest() {
        std::string name = testing::TempDir() + "memory.XXXXXX";
        folder = mkdtemp(name.data());
    }
    ~MemoryTest() override { std::filesystem::remove_all(folder); }

    bool isSaidBy(const std::string& events) const {
        std::ofstream(folder / "memory.events") << events;
        return hasRunOutOfMemory(folder);
    }

    std::filesystem::path folder;
};

TEST_F(MemoryTest, IsSaidByTheCounterOfKilledProcessesAlone) {
    EXPECT_TRUE(isSaidBy("low 0\nhigh 0\nmax 7\noom 1\noom_kill 1\noom_group_kill 0\n"));
    EXPECT_TRUE(isSaidBy("oom_kill 12\n"));
    EXPECT_FALSE(isSaidBy("low 0\nhigh 3\nmax 7\noom 1\noom_kill 0\noom_group_kill 0\n"));
    EXPECT_FALSE(isSaidBy("oom 1\n"));
    EXPECT_FALSE(isSaidBy(""));
}

TEST_F(MemoryTest, IsNotSaidWithoutACounter) {
    EXPECT_FALSE(hasRunOutOfMemory(folder));
    EXPECT_FALSE(hasRunOutOfMemory(folder / "gone"));
    EXPECT_FALSE(hasRunOutOfMemory({}));
}

TEST(ControlGroup, OfThisProcessExists) {
    const std::filesystem::path group = ownControlGroup();
    if (group.empty())
        GTEST_SKIP() << "this machine has no unified hierarchy";
    EXPECT_TRUE(std::filesystem::exists(group / "cgroup.procs")) << group;
}

} // namespace

} // namespace genv::jobs
