// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/messages/files/trusted_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace genv::messages {

namespace {

namespace fs = std::filesystem;

class TrustedFiles : public testing::Test {
  protected:
    TrustedFiles() {
        std::string name = fs::temp_directory_path() / "genv-trusted-XXXXXX";
        if (mkdtemp(name.data()) == nullptr)
            throw std::runtime_error("no folder");
        home_ = fs::canonical(name);
        fs::create_directories(home_ / ".config/genv");
        write(file());
    }
    ~TrustedFiles() override { fs::remove_all(home_); }
    TrustedFiles(const TrustedFiles&) = delete;
    TrustedFiles& operator=(const TrustedFiles&) = delete;

    [[nodiscard]] fs::path file() const { return home_ / ".config/genv/notify.conf"; }
    static void write(const fs::path& path, mode_t mode = 0600) {
        std::ofstream(path) << "text";
        ASSERT_EQ(::chmod(path.c_str(), mode), 0);
    }
    /// Returns the text, "none", or why it is refused.
    [[nodiscard]] std::string read(std::size_t max = 100) const {
        try {
            const auto read = readTrusted(file(), home_, max);
            return read ? read->text : "none";
        } catch (const UntrustedFile& error) {
            return error.what();
        }
    }
    [[nodiscard]] bool isRefused(const char* why) const {
        return read().find(why) != std::string::npos;
    }

    fs::path home_;
};

constexpr const char* writable = "others can write";

TEST_F(TrustedFiles, AreRead) {
    EXPECT_EQ(read(), "text");
    EXPECT_TRUE(readTrusted(file(), home_, 100)->isPrivate);
    ASSERT_EQ(::chmod(file().c_str(), 0644), 0);
    EXPECT_FALSE(readTrusted(file(), home_, 100)->isPrivate);
    fs::remove(file());
    EXPECT_EQ(read(), "none");
    fs::remove_all(home_ / ".config");
    EXPECT_EQ(read(), "none");
}

TEST_F(TrustedFiles, AreWrittenByNobodyElse) {
    for (const mode_t mode : {0602U, 0606U, 0666U}) {
        ASSERT_EQ(::chmod(file().c_str(), mode), 0);
        EXPECT_TRUE(isRefused(writable)) << read();
    }
}

TEST_F(TrustedFiles, MayBeWrittenByTheUsersPrivateGroupAndNoOther) {
    if (::geteuid() != 0)
        GTEST_SKIP() << "needs root, to give a file to another group";
    ASSERT_EQ(::chmod(file().c_str(), 0660), 0);
    EXPECT_EQ(read(), "text");
    constexpr gid_t daemonGroup = 1;
    ASSERT_EQ(::chown(file().c_str(), 0, daemonGroup), 0);
    EXPECT_TRUE(isRefused(writable)) << read();
}

TEST_F(TrustedFiles, LieInFoldersThatNobodyElseWrites) {
    for (const fs::path& folder : {home_ / ".config/genv", home_ / ".config", home_}) {
        ASSERT_EQ(::chmod(folder.c_str(), 0757), 0);
        EXPECT_TRUE(isRefused(writable)) << read();
        EXPECT_TRUE(isRefused(folder.c_str())) << read();
        ASSERT_EQ(::chmod(folder.c_str(), 0755), 0);
    }
    EXPECT_EQ(read(), "text");
}

TEST_F(TrustedFiles, MayBeLinksThatNobodyElseChanges) {
    fs::create_directories(home_ / "dotfiles");
    fs::rename(file(), home_ / "dotfiles/notify.conf");
    fs::create_symlink("../../dotfiles/notify.conf", file());
    EXPECT_EQ(read(), "text");
    ASSERT_EQ(::chmod((home_ / "dotfiles").c_str(), 0777), 0);
    EXPECT_TRUE(isRefused(writable)) << read();
    ASSERT_EQ(::chmod((home_ / "dotfiles").c_str(), 0755), 0);
    ASSERT_EQ(::chmod((home_ / "dotfiles/notify.conf").c_str(), 0602), 0);
    EXPECT_TRUE(isRefused(writable)) << read();
}

TEST_F(TrustedFiles, AreNotReachedThroughAFolderThatOthersWrite) {
    fs::create_directories(home_ / "shared");
    fs::create_symlink(file(), home_ / "shared/link");
    fs::rename(file(), home_ / ".config/genv/real");
    fs::create_symlink("real", home_ / "shared/real-link");
    ASSERT_EQ(::chmod((home_ / "shared").c_str(), 0777), 0);
    fs::create_symlink("../../shared/../.config/genv/real", file());
    EXPECT_TRUE(isRefused(writable)) << read();
}

TEST_F(TrustedFiles, MayNotBeACircleOfLinks) {
    fs::remove(file());
    fs::create_symlink("notify.conf", file());
    EXPECT_TRUE(isRefused("too many symbolic links")) << read();
}

TEST_F(TrustedFiles, BelongToTheUserOrRoot) {
    if (::geteuid() != 0)
        GTEST_SKIP() << "only root gives files away";
    ASSERT_EQ(::chown(file().c_str(), 12345, static_cast<gid_t>(-1)), 0);
    EXPECT_TRUE(isRefused("belongs to another user")) << read();
    ASSERT_EQ(::chown(file().c_str(), 0, static_cast<gid_t>(-1)), 0);
    ASSERT_EQ(::chown((home_ / ".config").c_str(), 12345, static_cast<gid_t>(-1)), 0);
    EXPECT_TRUE(isRefused("belongs to another user")) << read();
}

TEST_F(TrustedFiles, AreRegularAndSmall) {
    EXPECT_NE(read(3).find("too large"), std::string::npos);
    fs::remove(file());
    ASSERT_EQ(::mkfifo(file().c_str(), 0600), 0);
    EXPECT_TRUE(isRefused("not a regular file")) << read();
    fs::remove(file());
    fs::create_directory(file());
    EXPECT_TRUE(isRefused("not a regular file")) << read();
}

} // namespace

} // namespace genv::messages
