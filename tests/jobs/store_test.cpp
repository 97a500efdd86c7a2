// SPDX-License-Identifier: LGPL-2.1-or-later
// The database of jobs: what is written is read, also of an earlier version and by another machine.
#include "client/jobs/model/submission.hpp"
#include "client/jobs/store/other_machine.hpp"
#include "client/jobs/store/schema.hpp"
#include "client/jobs/store/stored_rows.hpp"
#include "tests/jobs/database_version1.hpp"
#include "tests/jobs/faulty_disk.hpp"
#include "tests/jobs/store_fixture.hpp"

#include <gtest/gtest.h>

#include <array>

namespace genv::jobs::tests {

namespace {

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
    TaskRecord record;
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
    TaskRecord canceled;
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

TEST_F(StoreTest, UpgradesEarlierVersionsAsAWhole) {
    open().add(everything(), at());
    store.reset();
    Database database(path);
    const std::array good{schemaUpgrades()[0],
                          "ALTER TABLE jobs ADD COLUMN color INTEGER NOT NULL DEFAULT 3",
                          "CREATE TABLE notes (job INTEGER)"};
    const std::array bad{good[0], good[1], "CREATE TABLE jobs (number INTEGER)"};
    errorOf(JobErrorCode::StorageFailed, [&] { upgrade(database, bad); });
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
    TaskRecord record;
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

} // namespace

} // namespace genv::jobs::tests
