// SPDX-License-Identifier: LGPL-2.1-or-later
// The host memory that processes may take: the machine's, and what every limited control group
// above them has left.
#include "service/processes/host_memory_files.hpp"
#include "tests/service/temporary_folder.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

namespace genv::tests {
namespace {

class HostMemory : public ::testing::Test {
  protected:
    HostMemory() {
        folder.write("proc/meminfo", "MemTotal:       1000 kB\nMemFree: 5 kB\n"
                                     "MemAvailable:    600 kB\n");
        folder.write("proc/7/cgroup", "0::/user.slice/a.scope\n");
        folder.write("proc/7/statm", "100 3 1 1 0 1 0\n");
        folder.write("cgroup/user.slice/memory.max", "max\n");
        folder.write("cgroup/user.slice/memory.current", "900000\n");
        folder.write("cgroup/user.slice/a.scope/memory.max", "5000\n");
        folder.write("cgroup/user.slice/a.scope/memory.current", "4000\n");
        folder.write("cgroup/user.slice/a.scope/memory.stat",
                     "anon 3000\ninactive_file 600\nactive_file 100\n");
    }
    core::HostMemoryReading read(const std::vector<core::ProcessIdentity>& processes) {
        return service::readHostMemory({folder.path() / "proc", folder.path() / "cgroup"},
                                       processes);
    }

    const core::ProcessIdentity process{7, 1};
    TemporaryFolder folder;
};

TEST_F(HostMemory, IsTheMachinesAndThatOfEachLimitedGroup) {
    const core::HostMemoryReading reading = read({process});
    EXPECT_EQ(reading.failure, "");
    EXPECT_EQ(reading.total, core::Bytes{std::uint64_t{1000} * 1024});
    EXPECT_EQ(reading.available, core::Bytes{std::uint64_t{600} * 1024});
    EXPECT_EQ(reading.groups.at(process),
              (std::vector<core::LimitedGroup>{{"/user.slice/a.scope", core::Bytes{1700}}}))
        << "caches of files give way";
    EXPECT_EQ(reading.resident.at(process),
              core::Bytes{3 * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE))});
}

TEST_F(HostMemory, CountsTheLimitOfEveryGroupAbove) {
    folder.write("cgroup/user.slice/memory.max", "901000\n");
    EXPECT_EQ(read({process}).groups.at(process).size(), 2U);
    EXPECT_EQ(read({process}).groups.at(process).at(1),
              (core::LimitedGroup{"/user.slice", core::Bytes{1000}}));
}

TEST_F(HostMemory, HasNoRoomInAGroupOverItsLimit) {
    folder.write("cgroup/user.slice/a.scope/memory.current", "9000\n");
    EXPECT_EQ(read({process}).groups.at(process).at(0).room, core::Bytes{0});
}

TEST_F(HostMemory, SaysIfItCannotBeRead) {
    folder.write("proc/meminfo", "nonsense\n");
    EXPECT_NE(read({}).failure, "");
}

TEST_F(HostMemory, KnowsNothingOfAProcessThatIsGone) {
    const core::ProcessIdentity gone{8, 1};
    EXPECT_TRUE(read({gone}).groups.at(gone).empty());
    EXPECT_FALSE(read({gone}).resident.contains(gone));
}

} // namespace
} // namespace genv::tests
