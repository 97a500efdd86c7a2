// SPDX-License-Identifier: LGPL-2.1-or-later
// The book of jobs: what becomes of each task, and what a full disk may not do.
#include "tests/jobs/book_fixture.hpp"

#include <gtest/gtest.h>

#include <array>

namespace genv::jobs::tests {

namespace {

TEST_F(BookTest, HoldsAndReleasesTasks) {
    Submission held = array(3);
    held.hold = true;
    submit(held);
    EXPECT_EQ(wanted(), Tasks{});
    EXPECT_EQ(jobState(1), JobState::Held);
    EXPECT_EQ(book->blockedBy({1, 1}, at()), Blocked::Held);
    EXPECT_EQ(book->release(1, std::array{2U}), (Tasks{{1, 2}}));
    EXPECT_EQ(wanted(), (Tasks{{1, 2}}));
    EXPECT_EQ(jobState(1), JobState::Waiting);
    run({1, 2});
    EXPECT_EQ(book->hold(1, {}).size(), 2U); // those that run are not concerned
    EXPECT_EQ(book->release(1, {}).size(), 2U);
    book->hold(1, std::array{1U});
    errorOf(JobErrorCode::InvalidArgs, [&] { begin({1, 1}); });
}

TEST_F(BookTest, CountsAnAttemptOnlyOnceItBegan) {
    submit(single({.retries = 1}));
    const AttemptName first = begin({1, 0});
    EXPECT_EQ(first, (AttemptName{{1, 0}, 1}));
    book->notStarted(first, at());
    EXPECT_EQ(stateOf({1, 0}), TaskState::Waiting);
    EXPECT_EQ(book->task({1, 0}).attempts, 0U);
    const AttemptName second = begin({1, 0});
    EXPECT_EQ(second, (AttemptName{{1, 0}, 2}));
    book->started(second, at(2));
    EXPECT_EQ(stateOf({1, 0}), TaskState::Running);
    EXPECT_EQ(recordOf({1, 0}).last.started, at(2));
    EXPECT_EQ(book->task({1, 0}).attempts, 1U);
    EXPECT_EQ(book->openAttempts(), std::vector{second});
}

TEST_F(BookTest, EndsATaskWithItsStatusAndItsUse) {
    submit(array(3));
    runAndEnd({1, 1}, 0);
    runAndEnd({1, 2}, 3);
    EXPECT_EQ(jobState(1), JobState::Waiting);
    EXPECT_EQ(statusOf(book->job(1)), 3);
    runAndEnd({1, 3}, -1, 9);
    EXPECT_EQ(stateOf({1, 1}), TaskState::Done);
    EXPECT_EQ(stateOf({1, 2}), TaskState::Failed);
    EXPECT_EQ(recordOf({1, 1}).gpuTime.count(), 20); // 2 GPUs, from the grant on
    EXPECT_EQ(recordOf({1, 1}).last.environment, "");
    EXPECT_EQ(jobState(1), JobState::Failed);
    EXPECT_EQ(statusOf(book->job(1)), 128 + 9);
    EXPECT_EQ(endOf(book->job(1)), at(10));
    EXPECT_FALSE(book->isUnfinished());
}

TEST_F(BookTest, EndsAnAttemptWhoseStartMarkWasNotSeen) {
    submit(single());
    book->ended(begin({1, 0}), ending(0));
    EXPECT_EQ(stateOf({1, 0}), TaskState::Done);
    EXPECT_EQ(book->task({1, 0}).attempts, 1U);
}

TEST_F(BookTest, RetriesFailuresAndLosses) {
    submit(single({.retries = 2}));
    runAndEnd({1, 0}, 1);
    EXPECT_EQ(wanted(), (Tasks{{1, 0}}));
    const AttemptName second = run({1, 0});
    book->ended(second, lost());
    EXPECT_EQ(stateOf({1, 0}), TaskState::Waiting);
    EXPECT_EQ(recordOf({1, 0}).reason, "the machine was restarted");
    const AttemptName third = run({1, 0});
    EXPECT_EQ(recordOf({1, 0}).reason, "");
    book->ended(third, lost());
    EXPECT_EQ(stateOf({1, 0}), TaskState::Lost);
    EXPECT_EQ(recordOf({1, 0}).gpuTime.count(), 60);
    EXPECT_EQ(book->task({1, 0}).attempts, 3U);
}

TEST_F(BookTest, IgnoresFactsThatDoNotFit) {
    submit(array(2, {.retries = 1}));
    const AttemptName first = runAndEnd({1, 1}, 1);
    const AttemptName second = run({1, 1});
    const int writes = store.writes;
    const Task before = book->task({1, 1});
    book->ended(first, ending(0));
    book->started(first, at(5));
    book->started(second, at(5));
    book->notStarted(first, at(5));
    book->notStarted(second, at(5)); // it has its start mark
    book->ended({{1, 2}, 1}, ending(0));
    book->ended({{1, 3}, 1}, ending(0));
    book->ended({{7, 0}, 1}, ending(0));
    book->refused({1, 1}, "no", at());
    book->used({{7, 0}, 1}, 5);
    EXPECT_EQ(book->task({1, 1}), before);
    EXPECT_EQ(store.writes, writes);
    book->ended(second, ending(0));
    book->ended(second, ending(3));
    EXPECT_EQ(stateOf({1, 1}), TaskState::Done);
}

TEST_F(BookTest, FailsATaskThatGenvdRefuses) {
    submit(array(2, {.retries = 3}));
    book->refused({1, 1}, "no GPU has 900 GiB", at(4));
    EXPECT_EQ(stateOf({1, 1}), TaskState::Failed);
    EXPECT_EQ(recordOf({1, 1}).reason, "no GPU has 900 GiB");
    EXPECT_EQ(recordOf({1, 1}).ended, at(4));
    EXPECT_EQ(statusOf(book->task({1, 1})), 1);
}

TEST_F(BookTest, CancelsWhatWaitsAndWishesForWhatRuns) {
    submit(array(3));
    const AttemptName starting = begin({1, 1});
    const AttemptName running = run({1, 2});
    EXPECT_EQ(book->cancel(1, {}, at(5)).size(), 3U);
    EXPECT_EQ(stateOf({1, 3}), TaskState::Canceled);
    EXPECT_EQ(recordOf({1, 3}).ended, at(5));
    EXPECT_EQ(book->task({1, 2}).wish, Wish::Cancel);
    EXPECT_TRUE(book->isUnfinished());
    book->notStarted(starting, at(6));
    book->ended(running, ending(0)); // the command ends well when it is told to end
    EXPECT_EQ(jobState(1), JobState::Canceled);
    EXPECT_EQ(book->task({1, 2}).wish, Wish::None);
    EXPECT_EQ(statusOf(book->job(1)), 1);
    EXPECT_TRUE(book->cancel(1, {}, at(7)).empty());
}

TEST_F(BookTest, CancelsWithoutRetries) {
    submit(single({.retries = 5}));
    const AttemptName attempt = run({1, 0});
    book->cancel(1, {}, at());
    book->ended(attempt, ending(-1, 15));
    EXPECT_EQ(stateOf({1, 0}), TaskState::Canceled);
    EXPECT_EQ(statusOf(book->job(1)), 128 + 15);
}

TEST_F(BookTest, RequeuesWhatDidNotSucceedElseWhatRunsElseAll) {
    submit(array(4));
    runAndEnd({1, 1}, 0);
    runAndEnd({1, 2}, 1);
    const AttemptName running = run({1, 3});
    book->cancel(1, std::array{4U}, at());
    EXPECT_EQ(book->requeue(1, {}), (Tasks{{1, 2}, {1, 4}}));
    EXPECT_EQ(stateOf({1, 2}), TaskState::Waiting);
    EXPECT_EQ(book->task({1, 3}).wish, Wish::None);
    EXPECT_EQ(book->requeue(1, {}), (Tasks{{1, 3}}));
    book->ended(running, ending(-1, 15));
    EXPECT_EQ(stateOf({1, 3}), TaskState::Waiting);
    EXPECT_EQ(book->task({1, 3}).failures, 0U);
    for (std::uint32_t task = 2; task <= 4; ++task)
        runAndEnd({1, task}, 0);
    EXPECT_EQ(book->requeue(1, {}).size(), 4U);
    EXPECT_EQ(jobState(1), JobState::Waiting);
    EXPECT_EQ(book->requeue(1, std::array{1U}), Tasks{}); // it waits already
}

TEST_F(BookTest, FollowsTheLastWish) {
    submit(array(2));
    const AttemptName first = run({1, 1});
    const AttemptName second = begin({1, 2});
    book->cancel(1, {}, at());
    book->requeue(1, {});
    book->ended(first, ending(0));
    book->notStarted(second, at());
    EXPECT_EQ(jobState(1), JobState::Waiting);
    EXPECT_EQ(begin({1, 1}).attempt, 2U);
}

TEST_F(BookTest, RefusesTasksThatAreNotThere) {
    submit(array(3));
    EXPECT_EQ(errorOf(JobErrorCode::NoSuchJob, [&] { book->cancel(2, {}, at()); }),
              "there is no job 2");
    EXPECT_EQ(errorOf(JobErrorCode::NoSuchJob,
                      [&] {
                          book->hold(1, std::array{3U, 4U});
                      }),
              "job 1 has no task 4");
    errorOf(JobErrorCode::NoSuchJob, [&] { book->requeue(1, std::array{0U}); });
    errorOf(JobErrorCode::NoSuchJob, [&] { begin({1, 7}); });
    EXPECT_EQ(jobState(1), JobState::Waiting);
}

TEST_F(BookTest, ChangesNothingForARequestThatCannotBeWritten) {
    submit(array(3));
    run({1, 1});
    runAndEnd({1, 2}, 1);
    const auto before = book->jobs().at(1).tasks;
    added.clear(), changed.clear();
    store.isFull = true;
    errorOf(JobErrorCode::StorageFailed, [&] { submit(single()); });
    errorOf(JobErrorCode::StorageFailed, [&] { begin({1, 3}); });
    errorOf(JobErrorCode::StorageFailed, [&] { book->cancel(1, {}, at()); });
    errorOf(JobErrorCode::StorageFailed, [&] { book->hold(1, {}); });
    errorOf(JobErrorCode::StorageFailed, [&] { book->requeue(1, {}); });
    EXPECT_EQ(book->jobs().size(), 1U);
    EXPECT_EQ(book->jobs().at(1).tasks, before);
    EXPECT_TRUE(added.empty() && changed.empty());
    store.isFull = false;
    EXPECT_TRUE(book->writeAgain());
    EXPECT_EQ(store.kept.at(1).tasks, before);
    EXPECT_EQ(wanted(), (Tasks{{1, 3}}));
}

TEST_F(BookTest, KeepsAFactThatCannotBeWritten) {
    submit(array(2));
    submit(single(after({{1, Condition::Ok}})));
    const AttemptName first = run({1, 1});
    book->cancel(1, std::array{2U}, at());
    store.isFull = true;
    book->ended(first, ending(0));
    EXPECT_EQ(jobState(1), JobState::Canceled);
    EXPECT_EQ(jobState(2), JobState::Canceled);
    EXPECT_FALSE(book->isWritten({1, 1}));
    EXPECT_TRUE(book->mustWriteAgain());
    EXPECT_EQ(book->writeError(), "the disk is full");
    EXPECT_FALSE(book->writeAgain());
    store.isFull = false;
    EXPECT_TRUE(book->writeAgain());
    EXPECT_FALSE(book->mustWriteAgain());
    EXPECT_TRUE(book->isWritten({1, 1}));
    reopen();
    EXPECT_EQ(stateOf({1, 1}), TaskState::Done);
    EXPECT_EQ(jobState(2), JobState::Canceled);
}

TEST_F(BookTest, WritesAKeptFactWithTheNextRequest) {
    submit(array(2, {.retries = 1}));
    const AttemptName first = run({1, 1});
    store.isFull = true;
    book->ended(first, ending(1));
    store.isFull = false;
    EXPECT_EQ(begin({1, 2}).attempt, 1U);
    EXPECT_TRUE(book->isWritten({1, 1}));
    reopen();
    EXPECT_EQ(stateOf({1, 1}), TaskState::Waiting);
    EXPECT_EQ(book->task({1, 1}).failures, 1U);
}

TEST_F(BookTest, WritesTheStepsOfAnAttemptWithTheNextChange) {
    submit(array(2, {.retries = 1}));
    const AttemptName first = begin({1, 1});
    const int writes = store.writes;
    book->started(first, at(1));
    EXPECT_TRUE(book->mustWriteAgain());
    EXPECT_EQ(book->writeError(), "");
    book->ended(first, ending(1));
    EXPECT_FALSE(book->isWritten({1, 1}));
    EXPECT_EQ(store.writes, writes);
    begin({1, 1});
    EXPECT_EQ(store.writes, writes + 1);
    EXPECT_FALSE(book->mustWriteAgain());
    EXPECT_EQ(store.attempts.at(first).ended, at(10));
    EXPECT_EQ(store.attempts.at({{1, 1}, 2}).ended, std::nullopt);
}

TEST_F(BookTest, KeepsTheHighestSampleWithoutAWriteForEach) {
    submit(single());
    const AttemptName attempt = run({1, 0});
    book->writeAgain();
    const int writes = store.writes;
    book->used(attempt, 5);
    book->used(attempt, 9);
    book->used(attempt, 7);
    EXPECT_EQ(store.writes, writes);
    EXPECT_FALSE(book->mustWriteAgain());
    EXPECT_TRUE(book->writeAgain());
    reopen();
    EXPECT_EQ(recordOf({1, 0}).peakMemoryBytes, 9U);
    book->ended(attempt, ending(0));
    EXPECT_EQ(recordOf({1, 0}).peakMemoryBytes, 9U);
}

TEST_F(BookTest, ForgetsJobsThirtyDaysAfterTheirEnd) {
    const auto day = [](int days) { return at(days * 86400L); };
    submit(single());                             // ends and is forgotten
    submit(single());                             // ends, but an unfinished job waits for it
    submit(single(after({{2, Condition::Any}}))); // waits
    submit(single());                             // ends later
    runAndEnd({1, 0}, 0);
    runAndEnd({2, 0}, 1);
    book->hold(3, {});
    const AttemptName last = run({4, 0});
    book->ended(last, {.status = 0, .signal = 0, .reason = {}, .at = day(30)});
    EXPECT_TRUE(book->forget(day(30)).empty());
    store.isFull = true;
    errorOf(JobErrorCode::StorageFailed, [&] { book->forget(day(30) + std::chrono::minutes{1}); });
    EXPECT_EQ(book->jobs().size(), 4U);
    store.isFull = false;
    const std::vector<Job> forgotten = book->forget(day(30) + std::chrono::minutes{1});
    ASSERT_EQ(forgotten.size(), 1U);
    EXPECT_EQ(forgotten[0].number, 1U);
    EXPECT_EQ(forgotten[0].tasks.size(), 1U);
    EXPECT_FALSE(book->jobs().contains(1));
    EXPECT_FALSE(store.kept.contains(1));
}

TEST_F(BookTest, ForgetsNothingWhenTheClockJumps) {
    submit(single());
    runAndEnd({1, 0}, 0);
    EXPECT_TRUE(book->forget(at() + std::chrono::years{12}).empty());
    EXPECT_TRUE(book->forget(at() - std::chrono::years{60}).empty());
    book->submit(single(), at() + std::chrono::days{40});
    EXPECT_EQ(book->forget(at() + std::chrono::days{40}).size(), 1U);
}

TEST_F(BookTest, KeepsWaitingTasksSmall) {
    EXPECT_LE(sizeof(Task), 48U);
    submit(array(1000));
    book->cancel(1, {}, at());
    const auto& tasks = book->job(1).tasks;
    EXPECT_EQ(&tasks.front().record(), &tasks.back().record());
}

} // namespace

} // namespace genv::jobs::tests
