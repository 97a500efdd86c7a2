// SPDX-License-Identifier: LGPL-2.1-or-later
// The book of jobs: what may be submitted, and which tasks are next by the plans of their jobs.
#include "tests/jobs/book_fixture.hpp"

#include <gtest/gtest.h>

#include <array>

namespace genv::jobs::tests {

namespace {

class BookPlansTest : public BookTest {};

TEST_F(BookPlansTest, WantsTheFirstEightTasksInOrder) {
    submit(array(5));
    submit(single());
    submit(array(9));
    EXPECT_EQ(wanted(), (Tasks{{1, 1}, {1, 2}, {1, 3}, {1, 4}, {1, 5}, {2, 0}, {3, 1}, {3, 2}}));
    EXPECT_EQ(book->blockedBy({3, 3}, at()), Blocked::Turn);
}

TEST_F(BookPlansTest, WantsTasksBesideThoseThatRun) {
    submit(array(20));
    for (std::uint32_t task = 1; task <= 10; ++task)
        run({1, task});
    EXPECT_EQ(wanted().size(), Book::maxRequests);
    EXPECT_EQ(wanted().front(), (TaskName{1, 11}));
}

TEST_F(BookPlansTest, WantsAHigherPriorityFirst) {
    submit(single({.priority = -1}));
    submit(single());
    submit(array(2, {.priority = 5}));
    EXPECT_EQ(wanted(), (Tasks{{3, 1}, {3, 2}, {2, 0}, {1, 0}}));
}

TEST_F(BookPlansTest, KeepsARequestAgainstOthersOfItsPriority) {
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

TEST_F(BookPlansTest, WantsNoMoreThanTheParallelTasksOfAnArray) {
    submit(array(9, {.parallel = 2}));
    EXPECT_EQ(wanted(), (Tasks{{1, 1}, {1, 2}}));
    EXPECT_EQ(wanted({{1, 5}}), (Tasks{{1, 1}, {1, 5}}));
    run({1, 1});
    EXPECT_EQ(wanted(), (Tasks{{1, 2}}));
    EXPECT_EQ(book->blockedBy({1, 2}, at()), Blocked::Turn);
    const AttemptName second = begin({1, 2});
    EXPECT_EQ(wanted(), Tasks{});
    EXPECT_EQ(book->blockedBy({1, 3}, at()), Blocked::Parallel);
    errorOf(JobErrorCode::InvalidArgs, [&] { begin({1, 3}); });
    book->notStarted(second, at());
    EXPECT_EQ(wanted(), (Tasks{{1, 2}}));
}

TEST_F(BookPlansTest, WaitsForTheBegin) {
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

TEST_F(BookPlansTest, FollowsAClockThatJumpsInBothDirections) {
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

TEST_F(BookPlansTest, StartsAfterJobsThatEndedAsWanted) {
    submit(array(2));
    submit(single(after({{1, Condition::Ok}})));
    submit(single(after({{1, Condition::Any}, {2, Condition::Any}})));
    EXPECT_EQ(wanted(), (Tasks{{1, 1}, {1, 2}}));
    EXPECT_EQ(book->blockedBy({2, 0}, at()), Blocked::Dependency);
    errorOf(JobErrorCode::InvalidArgs, [&] { begin({2, 0}); });
    runAndEnd({1, 1}, 0);
    EXPECT_EQ(wanted(), (Tasks{{1, 2}}));
    runAndEnd({1, 2}, 0);
    EXPECT_EQ(wanted(), (Tasks{{2, 0}}));
    runAndEnd({2, 0}, 7);
    EXPECT_EQ(wanted(), (Tasks{{3, 0}}));
}

TEST_F(BookPlansTest, CancelsWhatCanNoLongerStart) {
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

TEST_F(BookPlansTest, SaysThatALostJobWasLost) {
    submit(single());
    submit(single(after({{1, Condition::Ok}})));
    submit(single(after({{1, Condition::Fail}})));
    book->ended(run({1, 0}), lost());
    EXPECT_EQ(recordOf({2, 0}).reason, "job 1 was lost");
    EXPECT_EQ(wanted(), (Tasks{{3, 0}}));
}

TEST_F(BookPlansTest, DecidesADependencyOnAJobThatHasEndedAtOnce) {
    submit(array(2));
    runAndEnd({1, 1}, 0);
    runAndEnd({1, 2}, 1);
    submit(single(after({{1, Condition::Fail}})));
    submit(array(2, after({{1, Condition::Ok}})));
    EXPECT_EQ(wanted(), (Tasks{{2, 0}}));
    EXPECT_EQ(jobState(3), JobState::Canceled);
    EXPECT_EQ(added, (std::set<JobNumber>{1, 2, 3}));
}

TEST_F(BookPlansTest, WaitsAgainForARequeuedJob) {
    submit(single());
    submit(single(after({{1, Condition::Ok}})));
    runAndEnd({1, 0}, 1);
    EXPECT_EQ(jobState(2), JobState::Canceled);
    EXPECT_EQ(errorOf(JobErrorCode::InvalidArgs, [&] { book->requeue(2, {}); }),
              "job 2 cannot start, because job 1 failed: requeue that job first");
    book->requeue(1, {});
    book->requeue(2, {});
    EXPECT_EQ(wanted(), (Tasks{{1, 0}}));
    runAndEnd({1, 0}, 0);
    EXPECT_EQ(wanted(), (Tasks{{2, 0}}));
    book->requeue(1, {});
    EXPECT_EQ(wanted(), (Tasks{{1, 0}}));
}

TEST_F(BookPlansTest, RefusesDependenciesOnJobsThatAreNotThere) {
    submit(single());
    EXPECT_EQ(
        refusal(JobErrorCode::NoSuchJob, single(after({{1, Condition::Ok}, {7, Condition::Ok}}))),
        "there is no job 7 to wait for: expected the number of an earlier job");
    // itself: the next number
    EXPECT_EQ(refusal(JobErrorCode::NoSuchJob, single(after({{2, Condition::Any}}))),
              "there is no job 2 to wait for: expected the number of an earlier job");
    refusal(JobErrorCode::NoSuchJob, single(after({{0, Condition::Any}})));
}

TEST_F(BookPlansTest, RefusesSubmissionsThatCannotBe) {
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
        EXPECT_EQ(refusal(JobErrorCode::InvalidArgs, submission), text);
    }
    Submission named = single();
    for (const std::string& name :
         {std::string("a\nb"), std::string(65, 'x'), std::string("\xff")}) {
        named.name = name;
        refusal(JobErrorCode::InvalidArgs, named);
    }
}

TEST_F(BookPlansTest, RefusesAnArrayOfAMillion) {
    EXPECT_EQ(refusal(JobErrorCode::LimitsExceeded, array(1'000'000)),
              "too many tasks: 1000000 in one job, expected at most 100000");
}

TEST_F(BookPlansTest, PutsTheTasksOfAnArrayInOrder) {
    Submission submission = array(0);
    submission.tasks = {{7, "g"}, {2, "b"}, {4000000000, "z"}};
    submit(submission);
    EXPECT_EQ(wanted(), (Tasks{{1, 2}, {1, 7}, {1, 4000000000}}));
    EXPECT_EQ(textOf(book->job(1), book->job(1).tasks[1]), "1.7");
}

TEST_F(BookPlansTest, DecidesDependenciesAfterACrashBetweenTwoWrites) {
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

TEST_F(BookPlansTest, RequeuesAJobWhoseDependencyIsForgotten) {
    submit(single());
    submit(single(after({{1, Condition::Ok}})));
    runAndEnd({1, 0}, 0);
    runAndEnd({2, 0}, 1);
    submit(single());
    book->ended(run({3, 0}), {.status = 0, .signal = 0, .reason = {}, .at = at(50L * 86400)});
    store.kept.erase(1);
    reopen();
    book->requeue(2, {});
    EXPECT_EQ(wanted(), (Tasks{{2, 0}}));
}

} // namespace

} // namespace genv::jobs::tests
