// SPDX-License-Identifier: LGPL-2.1-or-later
// Documents on a real file system: written completely or not at all, and safe against hostile names
// and files.
#include "core/base/error.hpp"
#include "service/state/file_store.hpp"
#include "tests/service/temporary_folder.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>

namespace genv::tests {
namespace {

class Lines : public core::Log {
  public:
    void write(core::Severity /*severity*/, const std::string& line) override {
        all.push_back(line);
    }
    std::vector<std::string> all;
};

class FileStore : public ::testing::Test {
  protected:
    [[nodiscard]] std::filesystem::path environments() const {
        return folder.path() / "environments";
    }
    [[nodiscard]] std::vector<std::string> files() const {
        std::vector<std::string> names;
        for (const auto& entry : std::filesystem::directory_iterator(environments()))
            names.push_back(entry.path().filename());
        std::sort(names.begin(), names.end());
        return names;
    }

    TemporaryFolder folder;
    Lines log;
    service::FileStore store{folder.path(), log};
};

TEST_F(FileStore, KeepsDocumentsWhereOnlyItsOwnerReads) {
    store.write("10", "one");
    store.write("10", "two");
    struct stat status {};
    ASSERT_EQ(::stat(environments().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0700U);
    ASSERT_EQ(::stat((environments() / store.nameOf("10")).c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0600U);
    const auto found = store.readAll();
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].name, store.nameOf("10"));
    EXPECT_EQ(found[0].text, "two");
}

TEST_F(FileStore, EscapesIdsSoThatTheyStayInTheFolder) {
    for (const char* id : {"..", ".", "a.b", "a:b@c-d_e", "x.json", "1"}) {
        store.write(id, id);
        EXPECT_EQ(store.nameOf(id).find('/'), std::string::npos);
    }
    EXPECT_EQ(store.readAll().size(), 6U);
    store.remove("..");
    store.remove("..");
    EXPECT_EQ(store.readAll().size(), 5U);
    EXPECT_TRUE(std::filesystem::exists(folder.path()));
}

TEST_F(FileStore, ClearsAwayAWriteThatACrashCutShort) {
    store.write("10", "old");
    folder.write("environments/" + store.nameOf("10") + ".new", "ne");
    const auto found = store.readAll();
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].text, "old");
    EXPECT_EQ(files().size(), 1U);
}

TEST_F(FileStore, SetsAsideWhatIsNoDocument) {
    store.write("10", "good");
    folder.write("secret", "not yours");
    std::filesystem::create_symlink(folder.path() / "secret", environments() / "_31.json");
    ASSERT_EQ(::mkfifo((environments() / "_32.json").c_str(), 0600), 0);
    std::filesystem::create_directory(environments() / "_33.json");
    folder.write("environments/README", "hello");
    folder.write("environments/_34.json",
                 std::string(service::FileStore::largestDocument + 1, 'x'));
    const auto found = store.readAll();
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].text, "good");
    EXPECT_EQ(files(), std::vector<std::string>{store.nameOf("10")});
    EXPECT_EQ(log.all.size(), 5U);
    EXPECT_TRUE(std::filesystem::exists(folder.path() / "broken" / "README"));
}

TEST_F(FileStore, SaysSoAndLeavesTheOldDocumentWhenItCannotWrite) {
    store.write("10", "old");
    // A folder in place of the temporary file: a fault that also affects root.
    std::filesystem::create_directory(environments() / (store.nameOf("10") + ".new"));
    try {
        store.write("10", "new");
        FAIL() << "the write worked";
    } catch (const core::Error& error) {
        EXPECT_EQ(error.code(), core::ErrorCode::StorageFailed);
    }
    std::filesystem::remove(environments() / (store.nameOf("10") + ".new"));
    EXPECT_EQ(store.readAll().at(0).text, "old");
}

TEST_F(FileStore, LeavesNoTemporaryFileWhenTheDiskIsFull) {
    store.write("10", "old");
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    // A file size limit simulates a full disk: write(2) fails half-way.
    const rlimit small{16, before.rlim_max};
    auto* const handler = ::signal(SIGXFSZ, SIG_IGN);
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    EXPECT_THROW(store.write("10", std::string(1000, 'x')), core::Error);
    ::setrlimit(RLIMIT_FSIZE, &before);
    ::signal(SIGXFSZ, handler);
    EXPECT_EQ(files(), std::vector<std::string>{store.nameOf("10")});
    EXPECT_EQ(store.readAll().at(0).text, "old");
}

} // namespace
} // namespace genv::tests
