// SPDX-License-Identifier: LGPL-2.1-or-later
// The lock of a folder of jobs: one process has it.
#include "client/descriptor_functions.hpp"
#include "client/jobs/store/folder_lock.hpp"
#include "tests/jobs/store_fixture.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>

namespace genv::jobs::tests {

namespace {

/// The lock as another process sees it.
std::string lockElsewhere(const std::filesystem::path& path) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    const client::Descriptor reading(ends[0]);
    client::Descriptor writing(ends[1]);
    const pid_t child = ::fork();
    if (child == 0) {
        std::string text = "locked";
        try {
            const JobsLock lock(path);
        } catch (const JobError& error) {
            text = error.what();
        }
        (void)client::writeAll(writing.get(), text);
        ::_exit(0);
    }
    writing.close();
    ::waitpid(child, nullptr, 0);
    std::array<char, 4096> text{};
    const ssize_t size = ::read(reading.get(), text.data(), text.size());
    return {text.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
}

TEST(JobsLockTest, IsHeldByOneProcessAndNamesIt) {
    const TemporaryFolder folder;
    const std::filesystem::path path = folder.path() / "lock";
    {
        const JobsLock lock(path);
        EXPECT_EQ(modeOf(path), 0600U);
        std::array<char, 256> host{};
        ::gethostname(host.data(), host.size() - 1);
        EXPECT_EQ(lockElsewhere(path),
                  fmt::format("another genv-jobs (PID {} on {}) has locked {}: stop it first",
                              ::getpid(), host.data(), path.native()));
        // not lost when another descriptor of the file is closed
        EXPECT_NE(contentsOf(path), "");
        EXPECT_NE(lockElsewhere(path), "locked");
    }
    EXPECT_EQ(lockElsewhere(path), "locked");
}

TEST(JobsLockTest, EndsWithItsProcess) {
    const TemporaryFolder folder;
    const std::filesystem::path path = folder.path() / "lock";
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    const client::Descriptor reading(ends[0]);
    client::Descriptor writing(ends[1]);
    const pid_t child = ::fork();
    if (child == 0) {
        const JobsLock lock(path);
        (void)client::writeAll(writing.get(), "x");
        ::pause();
    }
    char byte = 0;
    ASSERT_EQ(::read(reading.get(), &byte, 1), 1);
    EXPECT_NE(lockElsewhere(path), "locked");
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    EXPECT_EQ(lockElsewhere(path), "locked");
}

TEST(JobsLockTest, SaysWhyItCannotBe) {
    const TemporaryFolder folder;
    EXPECT_EQ(
        errorOf(JobErrorCode::StorageFailed, [&] { JobsLock lock(folder.path() / "a" / "lock"); }),
        "cannot open " + folder.path().native() + "/a/lock: No such file or directory");
    std::filesystem::create_symlink("/dev/null", folder.path() / "lock");
    EXPECT_EQ(errorOf(JobErrorCode::StorageFailed, [&] { JobsLock lock(folder.path() / "lock"); }),
              "cannot open " + folder.path().native() + "/lock: Too many levels of symbolic links");
}

} // namespace

} // namespace genv::jobs::tests
