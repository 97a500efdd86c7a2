// SPDX-License-Identifier: LGPL-2.1-or-later
// Where jobs are kept: one folder for each machine, for its user alone.
#include "client/jobs/files/places.hpp"
#include "client/jobs/model/job_error.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>

namespace genv::jobs {

namespace {

class PlacesTest : public testing::Test {
  protected:
    PlacesTest() {
        std::string name = testing::TempDir() + "places.XXXXXX";
        home = mkdtemp(name.data());
        setenv("HOME", home.c_str(), 1);
        unsetenv("XDG_STATE_HOME");
    }
    ~PlacesTest() override { std::filesystem::remove_all(home); }

    static unsigned modeOf(const std::filesystem::path& path) {
        struct stat status {};
        EXPECT_EQ(lstat(path.c_str(), &status), 0) << path;
        return status.st_mode & 07777;
    }

    std::filesystem::path home;
};

std::string machine() {
    std::ifstream file("/etc/machine-id");
    std::string id;
    file >> id;
    return id;
}

TEST_F(PlacesTest, AreBelowTheHomeAndNameTheMachine) {
    EXPECT_EQ(machinesFolder(), home / ".local/state/genv/jobs");
    if (machine().empty())
        GTEST_SKIP() << "this machine has no id";
    const Places found = places();
    EXPECT_EQ(found.folder, home / ".local/state/genv/jobs" / machine());
    for (const auto& place :
         {found.database, found.attempts, found.logs, found.unfinished, found.lock})
        EXPECT_EQ(place.parent_path(), found.folder);
    EXPECT_FALSE(std::filesystem::exists(home / ".local"));
}

TEST_F(PlacesTest, FollowTheStateFolderOnlyIfItIsAbsolute) {
    setenv("XDG_STATE_HOME", (home / "state").c_str(), 1);
    EXPECT_EQ(machinesFolder(), home / "state/genv/jobs");
    for (const char* ignored : {"", "state", "./state"}) {
        setenv("XDG_STATE_HOME", ignored, 1);
        EXPECT_EQ(machinesFolder(), home / ".local/state/genv/jobs");
    }
}

TEST_F(PlacesTest, AreRefusedWithoutAHome) {
    for (const char* value : {"", "home"}) {
        setenv("HOME", value, 1);
        try {
            (void)machinesFolder();
            ADD_FAILURE() << value;
        } catch (const JobError& error) {
            EXPECT_EQ(error.code(), JobErrorCode::NotSupported);
        }
    }
}

TEST_F(PlacesTest, AreCreatedForTheirUserAlone) {
    Places made;
    made.folder = home / ".local/state/genv/jobs/1";
    made.attempts = made.folder / "attempts";
    made.logs = made.folder / "logs";
    const mode_t mask = umask(0);
    create(made);
    umask(mask);
    for (const auto& folder : {made.folder, made.attempts, made.logs, home / ".local"})
        EXPECT_EQ(modeOf(folder), 0700U) << folder;
    create(made); // a second time changes nothing

    std::filesystem::permissions(made.folder, std::filesystem::perms::all);
    create(made);
    EXPECT_EQ(modeOf(made.folder), 0700U);
}

TEST_F(PlacesTest, AreNotCreatedThroughALinkOrAFile) {
    Places made;
    made.folder = home / "jobs/1";
    made.attempts = made.folder / "attempts";
    made.logs = made.folder / "logs";
    std::filesystem::create_directories(home / "elsewhere");
    std::filesystem::create_directories(home / "jobs");
    std::filesystem::create_directory_symlink(home / "elsewhere", made.folder);
    EXPECT_THROW(create(made), JobError);
    EXPECT_TRUE(std::filesystem::is_empty(home / "elsewhere"));
    std::filesystem::remove(made.folder);
    std::ofstream(made.folder).put('x');
    EXPECT_THROW(create(made), JobError);
}

} // namespace

} // namespace genv::jobs
