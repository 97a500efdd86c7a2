// SPDX-License-Identifier: LGPL-2.1-or-later
// The book of jobs: which tasks are next, what becomes of each, and what a full disk may not do.
#include "client/jobs/model/book.hpp"
#include "tests/jobs/memory_store.hpp"
#include "tests/jobs/samples.hpp"

#include <gtest/gtest.h>

namespace genv::jobs::tests {

namespace {

using Tasks = std::vector<TaskName>;

class BookTest : public testing::Test {
  protected:
    BookTest() { reopen(); }

    /// As after a crash: only what was written is there.
    void reopen() {
        book = std::make_unique<Book>(store);
        book->observe(
            [this](const std::set<JobNumber>& newJobs, const std::set<JobNumber>& others) {
                added.insert(newJobs.begin(), newJobs.end());
                changed.insert(others.begin(), others.end());
            });
    }
    JobNumber submit(const Submission& submission) { return book->submit(submission, at()); }
    Tasks wanted(const std::set<TaskName>& requested = {}, core::WallTime now = at()) {
        return book->wanted(requested, now);
    }
    AttemptName begin(TaskName task, core::WallTime now = at()) {
        return book->begin(task, "env", {"GPU-1", "GPU-2"}, now);
    }
    AttemptName run(TaskName task) {
        const AttemptName attempt = begin(task);
        book->started(attempt, at(1));
        return attempt;
    }
    AttemptName runAndEnd(TaskName task, int status, int signal = 0) {
        const AttemptName attempt = run(task);
        book->ended(attempt, ending(status, signal));
        return attempt;
    }
    static Ending ending(int status, int signal = 0) {
        return {.status = status, .signal = signal, .reason = {}, .at = at(10)};
    }
    static Ending lost() {
        return {.status = -1, .signal = 0, .reason = "the machine was restarted", .at = at(10)};
    }
    TaskState stateOf(TaskName task) { return book->task(task).state; }
    const Record& recordOf(TaskName task) { return book->task(task).record(); }
    JobState jobState(JobNumber job) { return jobs::stateOf(book->job(job)); }
    std::string refusal(ErrorCode code, const Submission& submission) {
        const std::size_t before = book->jobs().size();
        const std::string text = errorOf(code, [&] { submit(submission); });
        EXPECT_EQ(book->jobs().size(), before);
        EXPECT_EQ(store.kept.size(), before);
        return text;
    }

    MemoryStore store;
    std::unique_ptr<Book> book;
    std::set<JobNumber> added;
    std::set<JobNumber> changed;
};

TEST_F(BookTest, WantsTheFirstEightTasksInOrder) {
    submit(array(5));
    submit(single());
    submit(array(9));
    EXPECT_EQ(wanted(), (Tasks{{1, 1}, {1, 2}, {1, 3}, {1, 4}, {1, 5}, {2, 0}, {3, 1}, {3, 2}}));
    EXPECT_EQ(book->blockedBy({3, 3}, at()), Blocked::Turn);
}

TEST_F(BookTest, WantsTasksBesideThoseThatRun) {
    submit(array(20));
    for (std::uint32_t task = 1; task <= 10; ++task)
        run({1, task});
    EXPECT_EQ(wanted().size(), Book::maxRequests);
    EXPECT_EQ(wanted().front(), (TaskName{1, 11}));
}

TEST_F(BookTest, WantsAHigherPriorityFirst) {
    submit(single({.priority = -1}));
    submit(single());
    submit(array(2, {.priority = 5}));
    EXPECT_EQ(wanted(), (Tasks{{3, 1}, {3, 2}, {2, 0}, {1, 0}}));
}

TEST_F(BookTest, KeepsARequestAgainstOthersOfItsPriority) {
    submit(array(8));
    submit(array(8));
    std::set<TaskName> requested;
    for (std::uint32_t task = 1; task <= 8; ++task)
        requested.insert({2, task});
    EXPECT_EQ(wanted(requested), Tasks(requested.begin(), requested.end()));
    submit(single({.priority = 1}));
    EXPECT_EQ(wanted(requested),
              (Tasks{{3, 0}, {2, 1}, {2, 2}, {2, 3}, {2, 4}, {2, 5}, {2, 6}, {2, 7}}));
}

TEST_F(BookTest, WantsNoMoreThanTheParallelTasksOfAnArray) {
    submit(array(9, {.parallel = 2}));
    EXPECT_EQ(wanted(), (Tasks{{1, 1}, {1, 2}}));
    EXPECT_EQ(wanted({{1, 5}}), (Tasks{{1, 1}, {1, 5}}));
    run({1, 1});
    EXPECT_EQ(wanted(), (Tasks{{1, 2}}));
    EXPECT_EQ(book->blockedBy({1, 2}, at()), Blocked::Turn);
    const AttemptName second = begin({1, 2});
    EXPECT_EQ(wanted(), Tasks{});
    EXPECT_EQ(book->blockedBy({1, 3}, at()), Blocked::Parallel);
    errorOf(ErrorCode::InvalidArgs, [&] { begin({1, 3}); });
    book->notStarted(second, at());
    EXPECT_EQ(wanted(), (Tasks{{1, 2}}));
}

TEST_F(BookTest, WaitsForTheBegin) {
    submit(single({.begin = at(100)}));
    submit(single({.begin = at(200)}));
    submit(single());
    EXPECT_EQ(wanted({}, at(99)), (Tasks{{3, 0}}));
    EXPECT_EQ(book->blockedBy({1, 0}, at(99)), Blocked::Begin);
    EXPECT_EQ(book->nextBegin(at(99)), at(100));
    EXPECT_EQ(wanted({}, at(100)), (Tasks{{1, 0}, {3, 0}}));
    EXPECT_EQ(book->nextBegin(at(100)), at(200));
    EXPECT_EQ(book->nextBegin(at(200)), std::nullopt);
}

TEST_F(BookTest, FollowsAClockThatJumpsInBothDirections) {
    submit(single({.begin = at(100)}));
    submit(array(2, {.begin = at(200)}));
    EXPECT_EQ(wanted({}, at(1'000'000)).size(), 3U);
    EXPECT_EQ(wanted({}, at(-1'000'000)), Tasks{});
    EXPECT_EQ(book->nextBegin(at(-1'000'000)), at(100));
    EXPECT_EQ(wanted({}, at(150)), (Tasks{{1, 0}}));
    const AttemptName attempt = begin({1, 0}, at(150));
    book->ended(attempt, {.status = 0, .signal = 0, .reason = {}, .at = at(-500)});
    EXPECT_EQ(recordOf({1, 0}).gpuTime.count(), 0);
    EXPECT_EQ(wanted({}, at(300)), (Tasks{{2, 1}, {2, 2}}));
    EXPECT_EQ(wanted({}, at(100)), Tasks{});
}

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
    errorOf(ErrorCode::InvalidArgs, [&] { begin({1, 1}); });
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
    EXPECT_EQ(errorOf(ErrorCode::NoSuchJob, [&] { book->cancel(2, {}, at()); }),
              "there is no job 2");
    EXPECT_EQ(errorOf(ErrorCode::NoSuchJob,
                      [&] {
                          book->hold(1, std::array{3U, 4U});
                      }),
              "job 1 has no task 4");
    errorOf(ErrorCode::NoSuchJob, [&] { book->requeue(1, std::array{0U}); });
    errorOf(ErrorCode::NoSuchJob, [&] { begin({1, 7}); });
    EXPECT_EQ(jobState(1), JobState::Waiting);
}

TEST_F(BookTest, StartsAfterJobsThatEndedAsWanted) {
    submit(array(2));
    submit(single(after({{1, Condition::Ok}})));
    submit(single(after({{1, Condition::Any}, {2, Condition::Any}})));
    EXPECT_EQ(wanted(), (Tasks{{1, 1}, {1, 2}}));
    EXPECT_EQ(book->blockedBy({2, 0}, at()), Blocked::Dependency);
    errorOf(ErrorCode::InvalidArgs, [&] { begin({2, 0}); });
    runAndEnd({1, 1}, 0);
    EXPECT_EQ(wanted(), (Tasks{{1, 2}}));
    runAndEnd({1, 2}, 0);
    EXPECT_EQ(wanted(), (Tasks{{2, 0}}));
    runAndEnd({2, 0}, 7);
    EXPECT_EQ(wanted(), (Tasks{{3, 0}}));
}

TEST_F(BookTest, CancelsWhatCanNoLongerStart) {
    submit(array(2));
    submit(array(2, after({{1, Condition::Ok}})));
    submit(single(after({{2, Condition::Ok}})));
    submit(single(after({{2, Condition::Fail}})));
    submit(single(after({{2, Condition::Any}})));
    Submission held = single(after({{1, Condition::Ok}}));
    held.hold = true;
    submit(held);
    runAndEnd({1, 1}, 3);
    EXPECT_EQ(jobState(2), JobState::Waiting); // the failed task may be requeued
    changed.clear();
    runAndEnd({1, 2}, 0);
    EXPECT_EQ(jobState(2), JobState::Canceled);
    EXPECT_EQ(recordOf({2, 2}).reason, "job 1 failed");
    EXPECT_EQ(recordOf({2, 2}).ended, at(10));
    EXPECT_EQ(recordOf({3, 0}).reason, "job 2 was canceled");
    EXPECT_EQ(recordOf({4, 0}).reason, "job 2 did not fail");
    EXPECT_EQ(jobState(6), JobState::Canceled);
    EXPECT_EQ(wanted(), (Tasks{{5, 0}}));
    EXPECT_EQ(changed, (std::set<JobNumber>{1, 2, 3, 4, 6}));
}

TEST_F(BookTest, SaysThatALostJobWasLost) {
    submit(single());
    submit(single(after({{1, Condition::Ok}})));
    submit(single(after({{1, Condition::Fail}})));
    book->ended(run({1, 0}), lost());
    EXPECT_EQ(recordOf({2, 0}).reason, "job 1 was lost");
    EXPECT_EQ(wanted(), (Tasks{{3, 0}}));
}

TEST_F(BookTest, DecidesADependencyOnAJobThatHasEndedAtOnce) {
    submit(array(2));
    runAndEnd({1, 1}, 0);
    runAndEnd({1, 2}, 1);
    submit(single(after({{1, Condition::Fail}})));
    submit(array(2, after({{1, Condition::Ok}})));
    EXPECT_EQ(wanted(), (Tasks{{2, 0}}));
    EXPECT_EQ(jobState(3), JobState::Canceled);
    EXPECT_EQ(added, (std::set<JobNumber>{1, 2, 3}));
}

TEST_F(BookTest, WaitsAgainForARequeuedJob) {
    submit(single());
    submit(single(after({{1, Condition::Ok}})));
    runAndEnd({1, 0}, 1);
    EXPECT_EQ(jobState(2), JobState::Canceled);
    EXPECT_EQ(errorOf(ErrorCode::InvalidArgs, [&] { book->requeue(2, {}); }),
              "job 2 cannot start, because job 1 failed: requeue that job first");
    book->requeue(1, {});
    book->requeue(2, {});
    EXPECT_EQ(wanted(), (Tasks{{1, 0}}));
    runAndEnd({1, 0}, 0);
    EXPECT_EQ(wanted(), (Tasks{{2, 0}}));
    book->requeue(1, {});
    EXPECT_EQ(wanted(), (Tasks{{1, 0}}));
}

TEST_F(BookTest, RefusesDependenciesOnJobsThatAreNotThere) {
    submit(single());
    EXPECT_EQ(
        refusal(ErrorCode::NoSuchJob, single(after({{1, Condition::Ok}, {7, Condition::Ok}}))),
        "there is no job 7 to wait for: expected the number of an earlier job");
    // itself: the next number
    EXPECT_EQ(refusal(ErrorCode::NoSuchJob, single(after({{2, Condition::Any}}))),
              "there is no job 2 to wait for: expected the number of an earlier job");
    refusal(ErrorCode::NoSuchJob, single(after({{0, Condition::Any}})));
}

TEST_F(BookTest, RefusesSubmissionsThatCannotBe) {
    const std::string zero("a\0b", 3);
    using Change = std::function<void(Submission&)>;
    const std::vector<std::pair<Change, std::string>> changes{
        {[](Submission& s) { s.command.clear(); }, "a job needs a command"},
        {[](Submission& s) { s.command = {""}; }, "a job needs a command"},
        {[&](Submission& s) {
             s.command = {"a", zero};
         },
         "invalid command: it contains a zero byte"},
        {[](Submission& s) { s.folder = "data"; },
         "invalid folder \"data\": expected an absolute path"},
        {[](Submission& s) { s.folder = ""; }, "invalid folder \"\": expected an absolute path"},
        {[](Submission& s) { s.output = "a\n"; },
         "invalid output \"a\\x0a\": expected an absolute path"},
        {[&](Submission& s) { s.environment = {"A=" + zero}; },
         "invalid variable: it contains a zero byte"},
        {[](Submission& s) { s.environment = {"=x"}; },
         "invalid variable \"=x\": expected NAME=VALUE"},
        {[](Submission& s) { s.environment = {"x"}; },
         "invalid variable \"x\": expected NAME=VALUE"},
        {[](Submission& s) { s.umask = 01000; }, "invalid umask 1000: expected at most 777"},
        {[](Submission& s) { s.tasks.clear(); }, "only an array has numbered tasks"},
        {[](Submission& s) {
             s.tasks = {{1, ""}};
         },
         "only an array has numbered tasks"},
        {[](Submission& s) {
             s.tasks = {{0, "x"}};
         },
         "only an array has numbered tasks"},
        {[](Submission& s) { s.isArray = true, s.tasks.clear(); }, "an array needs a task"},
        {[](Submission& s) {
             s.isArray = true, s.tasks = {{4, "a"}, {2, "b"}, {4, "c"}};
         },
         "two tasks have the number 4"},
        {[&](Submission& s) {
             s.isArray = true, s.tasks = {{4, zero}};
         },
         "invalid value of a task: it contains a zero byte"},
    };
    for (const auto& [change, text] : changes) {
        Submission submission = single();
        change(submission);
        EXPECT_EQ(refusal(ErrorCode::InvalidArgs, submission), text);
    }
    Submission named = single();
    for (const std::string& name :
         {std::string("a\nb"), std::string(65, 'x'), std::string("\xff")}) {
        named.name = name;
        refusal(ErrorCode::InvalidArgs, named);
    }
}

TEST_F(BookTest, RefusesAnArrayOfAMillion) {
    EXPECT_EQ(refusal(ErrorCode::LimitsExceeded, array(1'000'000)),
              "too many tasks: 1000000 in one job, expected at most 100000");
}

TEST_F(BookTest, PutsTheTasksOfAnArrayInOrder) {
    Submission submission = array(0);
    submission.tasks = {{7, "g"}, {2, "b"}, {4000000000, "z"}};
    submit(submission);
    EXPECT_EQ(wanted(), (Tasks{{1, 2}, {1, 7}, {1, 4000000000}}));
    EXPECT_EQ(textOf(book->job(1), book->job(1).tasks[1]), "1.7");
}

TEST_F(BookTest, ChangesNothingForARequestThatCannotBeWritten) {
    submit(array(3));
    run({1, 1});
    runAndEnd({1, 2}, 1);
    const auto before = book->jobs().at(1).tasks;
    added.clear(), changed.clear();
    store.isFull = true;
    errorOf(ErrorCode::StorageFailed, [&] { submit(single()); });
    errorOf(ErrorCode::StorageFailed, [&] { begin({1, 3}); });
    errorOf(ErrorCode::StorageFailed, [&] { book->cancel(1, {}, at()); });
    errorOf(ErrorCode::StorageFailed, [&] { book->hold(1, {}); });
    errorOf(ErrorCode::StorageFailed, [&] { book->requeue(1, {}); });
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

TEST_F(BookTest, DecidesDependenciesAfterACrashBetweenTwoWrites) {
    submit(single());
    submit(single(after({{1, Condition::Ok}})));
    const AttemptName attempt = run({1, 0});
    book->ended(attempt, ending(1));
    store.kept.at(2).tasks[0] = {}; // as if only the end of job 1 had been written
    reopen();
    EXPECT_EQ(jobState(2), JobState::Canceled);
    EXPECT_EQ(recordOf({2, 0}).reason, "job 1 failed");
    EXPECT_EQ(store.kept.at(2).tasks[0].state, TaskState::Canceled);
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
    const auto day = [](int days) { return at(days * 86400); };
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
    errorOf(ErrorCode::StorageFailed, [&] { book->forget(day(30) + std::chrono::minutes{1}); });
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

TEST_F(BookTest, RequeuesAJobWhoseDependencyIsForgotten) {
    submit(single());
    submit(single(after({{1, Condition::Ok}})));
    runAndEnd({1, 0}, 0);
    runAndEnd({2, 0}, 1);
    submit(single());
    book->ended(run({3, 0}), {.status = 0, .signal = 0, .reason = {}, .at = at(50 * 86400)});
    store.kept.erase(1);
    reopen();
    book->requeue(2, {});
    EXPECT_EQ(wanted(), (Tasks{{2, 0}}));
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
