// SPDX-License-Identifier: LGPL-2.1-or-later
// The database of jobs: a file that is damaged or not ours is refused, and stays as it is.
#include "client/jobs/store/other_machine.hpp"
#include "tests/jobs/store_fixture.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace genv::jobs::tests {

namespace {

class StoreRefusalsTest : public StoreTest {};

TEST_F(StoreRefusalsTest, RefusesADatabaseOfALaterVersionAndLeavesItAlone) {
    open();
    runSql("PRAGMA user_version = 7");
    const std::string before = contentsOf(path);
    EXPECT_EQ(refusal(),
              path.native() +
                  " was written by a later version of genv (its format is 7, this version "
                  "reads up to 1): install that version again, or move the file away to "
                  "start without its jobs");
    EXPECT_EQ(contentsOf(path), before);
}

TEST_F(StoreRefusalsTest, RefusesWhatIsNoDatabaseOfJobsAndLeavesItAlone) {
    const std::string damaged = path.native() + " is damaged (file is not a database): restore it "
                                                "from a backup, or move it away to start without "
                                                "its jobs";
    std::ofstream(path) << std::string(5000, 'x');
    EXPECT_EQ(refusal(), damaged);
    EXPECT_EQ(contentsOf(path), std::string(5000, 'x'));

    std::filesystem::remove(path);
    std::ofstream(path).put('x');
    runSql("PRAGMA user_version = 0"); // SQLite itself takes a short file for a new one
    std::filesystem::remove(path);
    std::ofstream(path).close();
    runSql("CREATE TABLE songs (title TEXT)");
    const std::string foreign = contentsOf(path);
    EXPECT_EQ(refusal(), path.native() + " is not a database of jobs: move it away");
    EXPECT_EQ(contentsOf(path), foreign);
    runSql("PRAGMA application_id = 12345; PRAGMA user_version = 1; DROP TABLE songs");
    EXPECT_EQ(refusal(), path.native() + " is not a database of jobs: move it away");
}

TEST_F(StoreRefusalsTest, RefusesADatabaseOfWhichAPartIsMissing) {
    Submission large = single();
    large.environment.assign(100, "A=" + std::string(1000, 'x'));
    open().add(large, at());
    store.reset();
    std::filesystem::resize_file(path, 8192);
    const std::string before = contentsOf(path);
    const std::string text = errorOf(JobErrorCode::StorageFailed, [&] { (void)open().load(); });
    EXPECT_TRUE(text.starts_with(path.native() + " is damaged (")) << text;
    store.reset();
    EXPECT_EQ(contentsOf(path), before);
}

TEST_F(StoreRefusalsTest, RefusesRowsThatMakeNoSense) {
    for (const char* change :
         {"UPDATE tasks SET state = 77", "UPDATE tasks SET number = -1",
          "UPDATE tasks SET attempts = 5000000000", "UPDATE tasks SET job = 9 WHERE job = 1",
          "DELETE FROM tasks", "UPDATE jobs SET priority = 1 << 40",
          "UPDATE jobs SET number = 1 << 40 WHERE number = 1",
          "UPDATE dependencies SET condition = 3", "UPDATE dependencies SET job = 5"}) {
        std::filesystem::remove(path);
        open().add(single(), at());
        open().add(single(after({{1, Condition::Ok}})), at());
        runSql(change);
        const std::string text = errorOf(JobErrorCode::StorageFailed, [&] { (void)open().load(); });
        EXPECT_TRUE(text.find(" is damaged (") != std::string::npos) << change << ": " << text;
    }
}

TEST_F(StoreRefusalsTest, RefusesFilesThatAreNotItsOwn) {
    std::filesystem::create_directory(path);
    EXPECT_EQ(refusal(), "cannot use " + path.native() + ": Is a directory");
    std::filesystem::remove(path);
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    EXPECT_EQ(refusal(), "cannot use " + path.native() + ": it is not a regular file");
    std::filesystem::remove(path);
    std::filesystem::create_symlink(folder.path() / "other", path);
    EXPECT_EQ(refusal(), "cannot use " + path.native() + ": Too many levels of symbolic links");
    EXPECT_FALSE(std::filesystem::exists(folder.path() / "other"));
    path = folder.path() / "missing" / "jobs.sqlite";
    EXPECT_EQ(refusal(),
              "cannot use " + path.parent_path().native() + ": No such file or directory");
}

TEST_F(StoreRefusalsTest, RefusesAFileOfAnotherUser) {
    if (::geteuid() != 0)
        GTEST_SKIP() << "needs root";
    std::ofstream(path).close();
    ASSERT_EQ(::chown(path.c_str(), 1, 1), 0);
    EXPECT_EQ(refusal(), "cannot use " + path.native() + ": it belongs to another user");
}

TEST_F(StoreRefusalsTest, RefusesADatabaseThatIsInUse) {
    open();
    EXPECT_EQ(errorOf(JobErrorCode::StorageFailed, [&] { SqliteStore second(path); }),
              path.native() + " is in use by another program");
    store->add(single(), at());
}

TEST_F(StoreRefusalsTest, SaysThatAJobIsNotThere) {
    open().add(single(), at());
    EXPECT_EQ(errorOf(JobErrorCode::NoSuchJob, [&] { (void)store->submission(2); }),
              "there is no job 2");
    EXPECT_EQ(errorOf(JobErrorCode::NoSuchJob,
                      [&] {
                          (void)store->value({1, 3});
                      }),
              "job 1 has no task 3");
}

TEST_F(StoreRefusalsTest, NamesTheDatabaseOfAnotherMachineThatCannotBeRead) {
    const auto text = [&] {
        return errorOf(JobErrorCode::StorageFailed, [&] { (void)jobsOfOtherMachine(path); });
    };
    EXPECT_EQ(text(), "cannot read " + path.native() + ": No such file or directory");
    std::ofstream(path) << std::string(5000, 'x');
    EXPECT_TRUE(text().starts_with(path.native() + " is damaged (")) << text();
    std::filesystem::remove(path);
    open();
    runSql("PRAGMA user_version = 7");
    EXPECT_TRUE(text().starts_with(path.native() + " was written by a later version")) << text();
    std::filesystem::resize_file(path, 0);
    EXPECT_TRUE(jobsOfOtherMachine(path).empty());
}

} // namespace

} // namespace genv::jobs::tests
