// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/doctor/system_places.hpp"
#include "client/genvctl/shell/shims_folder.hpp"
#include "client/genvctl/shell/variables.hpp"
#include "client/search_path.hpp"
#include "tests/service/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

namespace genv::ctl {
namespace {

namespace fs = std::filesystem;

/// Restores PATH and the current folder after each test.
class SearchPath : public testing::Test {
  protected:
    ~SearchPath() override {
        setenv("PATH", path_.c_str(), 1);
        fs::current_path(folder_);
    }

    const std::string path_ = std::getenv("PATH");
    const fs::path folder_ = fs::current_path();
};

TEST_F(SearchPath, IsTheSystemsDefaultWhereTheVariableIsUnset) {
    unsetenv("PATH");
    EXPECT_EQ(client::searchPath(), "/bin:/usr/bin");
    EXPECT_EQ(SystemPlaces::own().searchPath, "/bin:/usr/bin");
}

TEST_F(SearchPath, IsTheVariableEvenIfThatIsEmpty) {
    setenv("PATH", "/a:/b", 1);
    EXPECT_EQ(client::searchPath(), "/a:/b");
    setenv("PATH", "", 1);
    EXPECT_EQ(client::searchPath(), "");
}

TEST_F(SearchPath, HasTheCurrentFolderForEachEmptyEntry) {
    using Folders = std::vector<std::string>;
    EXPECT_EQ(client::searchFolders("/a:/b"), (Folders{"/a", "/b"}));
    EXPECT_EQ(client::searchFolders("/a::b"), (Folders{"/a", ".", "b"}));
    EXPECT_EQ(client::searchFolders(":/a:"), (Folders{".", "/a", "."}));
    EXPECT_EQ(client::searchFolders(""), Folders{"."});
}

TEST_F(SearchPath, DecidesWhichShimsAreUsedDownToItsLastEntry) {
    const tests::TemporaryFolder folder;
    folder.write("docker", "#!/bin/sh\n");
    fs::permissions(folder.path() / "docker", fs::perms::owner_all);
    fs::current_path(folder.path());
    setenv("PATH", "/nonexistent", 1);
    EXPECT_TRUE(shimsFolder().ends_with("-plain")) << shimsFolder();
    setenv("PATH", "/nonexistent:", 1);
    EXPECT_TRUE(shimsFolder().ends_with("-docker")) << shimsFolder();
}

} // namespace
} // namespace genv::ctl
