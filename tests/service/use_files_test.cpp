// SPDX-License-Identifier: LGPL-2.1-or-later
// The files with what users have used.
#include "service/state/use_files.hpp"
#include "tests/core/kept_log.hpp"
#include "tests/service/temporary_folder.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <condition_variable>
#include <fstream>
#include <functional>
#include <mutex>

namespace genv::tests {
namespace {

class UseFilesTest : public ::testing::Test {
  protected:
    UseFilesTest() {
        std::filesystem::create_directory(state);
        std::filesystem::create_directory(runtime);
    }
    service::UseFiles make() {
        return {state, runtime, log, [this](std::function<void()> result) {
                    const std::lock_guard lock(mutex);
                    posted = std::move(result);
                    changed.notify_one();
                }};
    }
    // Writes as the loop does, and returns whether that succeeded.
    bool write(service::UseFiles& files, double use) {
        std::optional<bool> written;
        files.write(record(use), [&](bool isWritten) { written = isWritten; });
        std::unique_lock lock(mutex);
        changed.wait(lock, [this] { return posted != nullptr; });
        std::exchange(posted, nullptr)();
        return written.value();
    }
    static core::UseRecord record(double use) {
        return {"boot",
                core::BootTime{std::chrono::seconds{5}},
                core::WallTime{std::chrono::seconds{7}},
                {{1001, use, core::BootTime{std::chrono::seconds{4}}}}};
    }
    void expectSetAside(const std::string& what) {
        log.lines.clear();
        EXPECT_FALSE(make().read().lasting) << what;
        EXPECT_EQ(log.lines.size(), 1U) << what;
        EXPECT_FALSE(std::filesystem::exists(std::filesystem::symlink_status(lasting))) << what;
        EXPECT_TRUE(
            std::filesystem::exists(std::filesystem::symlink_status(state / "use.json.broken")))
            << what;
        std::filesystem::remove_all(state / "use.json.broken");
    }

    const TemporaryFolder folder;
    const std::filesystem::path state = folder.path() / "state";
    const std::filesystem::path runtime = folder.path() / "run";
    const std::filesystem::path lasting = state / "use.json";
    KeptLog log;
    std::mutex mutex;
    std::condition_variable changed;
    std::function<void()> posted;
};

TEST_F(UseFilesTest, AreReadAsTheyWereWritten) {
    auto files = make();
    EXPECT_FALSE(files.read().lasting);
    EXPECT_TRUE(write(files, 12.5));
    files.writeRecent(record(1.0 / 3));
    const core::UseRecords read = make().read();
    EXPECT_EQ(read.lasting, record(12.5));
    EXPECT_EQ(read.recent, record(1.0 / 3));
    files.writeNow(record(20));
    EXPECT_EQ(make().read().lasting, record(20));
    struct stat status {};
    ASSERT_EQ(::stat(lasting.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600U);
    EXPECT_TRUE(log.lines.empty());
}

TEST_F(UseFilesTest, KnowTheBootByTheFileBelowTheRuntimeDirectory) {
    auto first = make();
    static_cast<void>(first.read());
    auto second = make();
    static_cast<void>(second.read());
    EXPECT_EQ(second.boot(), first.boot());
    std::filesystem::remove_all(runtime);
    std::filesystem::create_directory(runtime);
    auto third = make();
    static_cast<void>(third.read());
    EXPECT_NE(third.boot(), first.boot());
}

TEST_F(UseFilesTest, AreSetAsideWhereTheyAreBroken) {
    for (const std::string& text :
         {std::string(), std::string("{"), std::string("\xff\xfe\0", 3), std::string("[]"),
          std::string(R"({"version":2})"), std::string(R"({"version":1,"boot":7})"),
          std::string(service::UseFiles::maxSize + 1, ' '), std::string(100'000, '[')}) {
        std::ofstream(lasting) << text;
        ::chmod(lasting.c_str(), 0600);
        expectSetAside(text.substr(0, 20));
    }
}

TEST_F(UseFilesTest, AreSetAsideWhereAnotherUserMayHaveWrittenThem) {
    make().writeNow(record(1));
    ::chmod(lasting.c_str(), 0666);
    expectSetAside("writable");
    make().writeNow(record(1));
    std::filesystem::rename(lasting, state / "elsewhere");
    std::filesystem::create_symlink("elsewhere", lasting);
    expectSetAside("a link");
    std::filesystem::create_directory(lasting);
    expectSetAside("a directory");
    ASSERT_EQ(::mkfifo(lasting.c_str(), 0600), 0);
    expectSetAside("a pipe");
    if (::geteuid() == 0) {
        make().writeNow(record(1));
        ASSERT_EQ(::chown(lasting.c_str(), 65534, 65534), 0);
        expectSetAside("somebody else's");
    }
}

TEST_F(UseFilesTest, SayOnceThatTheyCannotBeWrittenAndWhenTheyAreAgain) {
    auto files = make();
    std::filesystem::create_directory(lasting);
    EXPECT_FALSE(write(files, 1));
    EXPECT_FALSE(write(files, 2));
    EXPECT_EQ(log.lines.size(), 1U);
    std::filesystem::remove(lasting);
    EXPECT_TRUE(write(files, 3));
    EXPECT_EQ(log.lines.size(), 2U);
    EXPECT_EQ(make().read().lasting, record(3));
}

TEST_F(UseFilesTest, AreWrittenIntoADirectoryThatNobodyMade) {
    std::filesystem::remove_all(state);
    make().writeNow(record(1));
    EXPECT_EQ(make().read().lasting, record(1));
}

} // namespace
} // namespace genv::tests
