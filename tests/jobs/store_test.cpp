// SPDX-License-Identifier: LGPL-2.1-or-later
// The database of jobs: what is written is read, and a file that is not ours stays as it is.
#include "client/descriptor.hpp"
#include "client/jobs/model/submission.hpp"
#include "client/jobs/store/lock.hpp"
#include "client/jobs/store/other_machine.hpp"
#include "client/jobs/store/rows.hpp"
#include "client/jobs/store/schema.hpp"
#include "client/jobs/store/sqlite_store.hpp"
#include "tests/jobs/database_version1.hpp"
#include "tests/jobs/faulty_disk.hpp"
#include "tests/jobs/samples.hpp"
#include "tests/service/temporary_folder.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <fstream>
#include <sstream>

namespace genv::jobs::tests {

namespace {

using genv::tests::TemporaryFolder;

std::string contentsOf(const std::filesystem::path& path) {
    std::stringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
}

mode_t modeOf(const std::filesystem::path& path) {
    struct stat status {};
    EXPECT_EQ(::lstat(path.c_str(), &status), 0) << path;
    return status.st_mode & 07777;
}

Submission everything() {
    Submission submission = array(3);
    submission.name = "sweep";
    submission.command = {"train", "", everyByte(), "$HOME {} %h"};
    submission.folder = "/" + everyByte();
    submission.environment = {"A=" + everyByte(), "BASH_FUNC_x%%=() { :\n}", "EMPTY="};
    submission.umask = 027;
    submission.output = "/out/" + everyByte();
    submission.request = R"({"gpus":2})";
    submission.gpus = 2;
    submission.cpus = 4;
    submission.memoryBytes = std::uint64_t{1} << 40;
    submission.hold = true;
    submission.tasks[1].value = everyByte();
    submission.plan = {.priority = -3,
                       .begin = at(100),
                       .parallel = 2,
                       .retries = 5,
                       .after = {{1, Condition::Fail}, {1, Condition::Any}}};
    return submission;
}

void expectSame(const Submission& one, const Submission& other) {
    EXPECT_EQ(one.name, other.name);
    EXPECT_EQ(one.command, other.command);
    EXPECT_EQ(one.folder, other.folder);
    EXPECT_EQ(one.environment, other.environment);
    EXPECT_EQ(one.umask, other.umask);
    EXPECT_EQ(one.output, other.output);
    EXPECT_EQ(one.request, other.request);
    EXPECT_EQ(one.gpus, other.gpus);
    EXPECT_EQ(one.cpus, other.cpus);
    EXPECT_EQ(one.memoryBytes, other.memoryBytes);
    EXPECT_EQ(one.isArray, other.isArray);
}

void expectSame(const Job& one, const Job& other) {
    EXPECT_EQ(one.number, other.number);
    EXPECT_EQ(one.name, other.name);
    EXPECT_EQ(one.command, other.command);
    EXPECT_EQ(one.isArray, other.isArray);
    EXPECT_EQ(one.gpus, other.gpus);
    EXPECT_EQ(one.plan, other.plan);
    EXPECT_EQ(one.submitted, other.submitted);
    EXPECT_EQ(one.tasks, other.tasks);
    EXPECT_EQ(one.progress, other.progress);
}

Task ranTask(std::uint32_t number) {
    Record record;
    record.last = {.environment = "job-1." + std::to_string(number),
                   .devices = {"GPU-1", "GPU-2"},
                   .granted = at(1),
                   .started = at(2),
                   .ended = at(3),
                   .status = 3,
                   .signal = 0};
    record.gpuTime = std::chrono::seconds{7};
    record.peakMemoryBytes = std::uint64_t{80} << 30;
    record.ended = at(4);
    record.reason = everyByte();
    Task task;
    task.number = number;
    task.state = TaskState::Failed;
    task.wish = Wish::Requeue;
    task.attempts = 2;
    task.lastAttempt = 3;
    task.failures = 1;
    task.setRecord(record);
    return task;
}

class StoreTest : public testing::Test {
  protected:
    /// Opens the database anew each time.
    SqliteStore& open() {
        store.reset();
        return store.emplace(path);
    }
    std::string refusal() {
        store.reset();
        return errorOf(ErrorCode::StorageFailed, [&] { store.emplace(path); });
    }
    void runSql(const char* text) {
        store.reset();
        Database(path).run(text);
    }

    TemporaryFolder folder;
    std::filesystem::path path = folder.path() / "jobs.sqlite";
    std::optional<SqliteStore> store;
};

TEST_F(StoreTest, KeepsAllThatWasSubmitted) {
    const Submission submission = everything();
    ASSERT_EQ(open().add(single(), at()), 1U);
    ASSERT_EQ(open().add(submission, at(5)), 2U);
    const std::vector<Job> jobs = open().load();
    ASSERT_EQ(jobs.size(), 2U);
    expectSame(jobs[0], jobOf(single(), 1, at()));
    expectSame(jobs[1], jobOf(submission, 2, at(5)));
    expectSame(store->submission(2), submission);
    EXPECT_EQ(store->submission(2).plan, (Plan{-3, at(100), 2, 5, {}}));
    EXPECT_EQ(store->value({2, 2}), everyByte());
    EXPECT_EQ(store->value({1, 0}), "");
}

TEST_F(StoreTest, KeepsAllOfATask) {
    open().add(array(3), at());
    Job job = jobOf(array(3), 1, at());
    job.tasks[0] = ranTask(1);
    job.tasks[1].state = TaskState::Canceled;
    Record canceled;
    canceled.ended = at(9);
    canceled.reason = "job 12 failed";
    job.tasks[1].setRecord(canceled);
    job.tasks[2].held = true;
    job.progress = {.held = 1, .failed = 1, .canceled = 1};
    store->write(std::array{TaskChange{1, job.tasks[0]}, TaskChange{1, job.tasks[1]},
                            TaskChange{1, job.tasks[2]}});
    expectSame(open().load().at(0), job);
}

TEST_F(StoreTest, IsOfItsUserAlone) {
    std::ofstream(path).put('\0');
    std::filesystem::resize_file(path, 0);
    ASSERT_EQ(::chmod(path.c_str(), 0644), 0);
    open().add(single(), at());
    EXPECT_EQ(modeOf(path), 0600U);
    EXPECT_EQ(modeOf(path.native() + "-journal"), 0600U);
}

TEST_F(StoreTest, NeverUsesANumberAgain) {
    open().add(single(), at());
    EXPECT_EQ(open().add(array(3), at()), 2U);
    store->remove(std::array<JobNumber, 2>{1, 2});
    EXPECT_TRUE(open().load().empty());
    EXPECT_EQ(open().add(single(), at()), 3U);
    EXPECT_EQ(store->load().size(), 1U);
}

TEST_F(StoreTest, RefusesADatabaseOfALaterVersionAndLeavesItAlone) {
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

TEST_F(StoreTest, RefusesWhatIsNoDatabaseOfJobsAndLeavesItAlone) {
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

TEST_F(StoreTest, RefusesADatabaseOfWhichAPartIsMissing) {
    Submission large = single();
    large.environment.assign(100, "A=" + std::string(1000, 'x'));
    open().add(large, at());
    store.reset();
    std::filesystem::resize_file(path, 8192);
    const std::string before = contentsOf(path);
    const std::string text = errorOf(ErrorCode::StorageFailed, [&] { (void)open().load(); });
    EXPECT_TRUE(text.starts_with(path.native() + " is damaged (")) << text;
    store.reset();
    EXPECT_EQ(contentsOf(path), before);
}

TEST_F(StoreTest, RefusesRowsThatMakeNoSense) {
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
        const std::string text = errorOf(ErrorCode::StorageFailed, [&] { (void)open().load(); });
        EXPECT_TRUE(text.find(" is damaged (") != std::string::npos) << change << ": " << text;
    }
}

TEST_F(StoreTest, RefusesFilesThatAreNotItsOwn) {
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

TEST_F(StoreTest, RefusesAFileOfAnotherUser) {
    if (::geteuid() != 0)
        GTEST_SKIP() << "needs root";
    std::ofstream(path).close();
    ASSERT_EQ(::chown(path.c_str(), 1, 1), 0);
    EXPECT_EQ(refusal(), "cannot use " + path.native() + ": it belongs to another user");
}

TEST_F(StoreTest, RefusesADatabaseThatIsInUse) {
    open();
    EXPECT_EQ(errorOf(ErrorCode::StorageFailed, [&] { SqliteStore second(path); }),
              path.native() + " is in use by another program");
    store->add(single(), at());
}

TEST_F(StoreTest, UpgradesEarlierVersionsAsAWhole) {
    open().add(everything(), at());
    store.reset();
    Database database(path);
    const std::array good{schemaUpgrades()[0],
                          "ALTER TABLE jobs ADD COLUMN color INTEGER NOT NULL DEFAULT 3",
                          "CREATE TABLE notes (job INTEGER)"};
    const std::array bad{good[0], good[1], "CREATE TABLE jobs (number INTEGER)"};
    errorOf(ErrorCode::StorageFailed, [&] { upgrade(database, bad); });
    EXPECT_EQ(database.integer("PRAGMA user_version"), 1);
    EXPECT_EQ(readJobs(database).size(), 1U);
    upgrade(database, good);
    EXPECT_EQ(database.integer("PRAGMA user_version"), 3);
    EXPECT_EQ(database.integer("SELECT sum(color) FROM jobs"), 3);
    EXPECT_EQ(database.integer("SELECT count(*) FROM notes"), 0);
    EXPECT_EQ(readJobs(database).size(), 1U);
}

TEST_F(StoreTest, ReadsADatabaseOfTheFirstVersion) {
    std::ofstream(path).close();
    runSql(databaseOfVersion1);
    Record record;
    record.last = {.environment = "job-17.1",
                   .devices = {"GPU-1", "GPU-2"},
                   .granted = at(1),
                   .started = at(2),
                   .ended = at(3),
                   .status = -1,
                   .signal = 9};
    record.gpuTime = std::chrono::seconds{7};
    record.peakMemoryBytes = 9;
    record.ended = at(4);
    record.reason = "no disk";
    Submission submission = array(2, {.priority = -3,
                                      .begin = at(100),
                                      .parallel = 2,
                                      .retries = 5,
                                      .after = {{12, Condition::Fail}}});
    submission.name = "sweep";
    submission.command = {"train", "{}"};
    submission.gpus = 2;
    Job job = jobOf(submission, 17, at());
    job.tasks[0].state = TaskState::Failed;
    job.tasks[0].attempts = 2;
    job.tasks[0].lastAttempt = 3;
    job.tasks[0].failures = 1;
    job.tasks[0].setRecord(record);
    job.tasks[1].held = true;
    job.progress = {.held = 1, .failed = 1};
    expectSame(open().load().at(0), job);
    EXPECT_EQ(store->submission(17).environment, std::vector<std::string>{"A=b"});
    EXPECT_EQ(store->submission(17).umask, 027U);
    EXPECT_EQ(store->submission(17).request, R"({"gpus":2})");
    EXPECT_EQ(store->value({17, 2}), "two");
    EXPECT_EQ(store->add(single(), at()), 18U);
}

TEST_F(StoreTest, SaysThatAJobIsNotThere) {
    open().add(single(), at());
    EXPECT_EQ(errorOf(ErrorCode::NoSuchJob, [&] { (void)store->submission(2); }),
              "there is no job 2");
    EXPECT_EQ(errorOf(ErrorCode::NoSuchJob,
                      [&] {
                          (void)store->value({1, 3});
                      }),
              "job 1 has no task 3");
}

TEST_F(StoreTest, NeedsNoSharedMemory) {
    const FaultyDisk diskWithoutIt;
    open().add(array(3), at());
    EXPECT_EQ(open().load().size(), 1U);
    EXPECT_FALSE(std::filesystem::exists(path.native() + "-shm"));
    EXPECT_EQ(contentsOf("/proc/self/maps").find(path.native()), std::string::npos);
    store.reset();
}

TEST_F(StoreTest, IsReadWithoutAChangeForAnotherMachine) {
    open().add(everything(), at());
    store->add(array(4), at(1));
    const std::string before = contentsOf(path);
    const std::vector<Job> jobs = jobsOfOtherMachine(path); // it is locked by its owner
    ASSERT_EQ(jobs.size(), 2U);
    expectSame(jobs[1], jobOf(array(4), 2, at(1)));
    EXPECT_EQ(contentsOf(path), before);
    store.reset();
    EXPECT_EQ(jobsOfOtherMachine(path).size(), 2U);
    EXPECT_EQ(contentsOf(path), before);
}

TEST_F(StoreTest, NamesTheDatabaseOfAnotherMachineThatCannotBeRead) {
    const auto text = [&] {
        return errorOf(ErrorCode::StorageFailed, [&] { (void)jobsOfOtherMachine(path); });
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

TEST_F(StoreTest, KeepsEachAttempt) {
    open().add(array(1), at());
    Task task = ranTask(1);
    store->write(std::array{TaskChange{1, task}});
    ++task.lastAttempt;
    store->write(std::array{TaskChange{1, task}});
    store.reset();
    Database database(path);
    EXPECT_EQ(database.integer("SELECT count(*) FROM attempts WHERE number IN (3, 4)"), 2);
}

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
        } catch (const Error& error) {
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
        errorOf(ErrorCode::StorageFailed, [&] { JobsLock lock(folder.path() / "a" / "lock"); }),
        "cannot open " + folder.path().native() + "/a/lock: No such file or directory");
    std::filesystem::create_symlink("/dev/null", folder.path() / "lock");
    EXPECT_EQ(errorOf(ErrorCode::StorageFailed, [&] { JobsLock lock(folder.path() / "lock"); }),
              "cannot open " + folder.path().native() + "/lock: Too many levels of symbolic links");
}

} // namespace

} // namespace genv::jobs::tests
