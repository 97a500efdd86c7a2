// SPDX-License-Identifier: LGPL-2.1-or-later
// A book of jobs on a store without a disk, and the steps of attempts in short words.
#pragma once

#include "client/jobs/model/book.hpp"
#include "tests/jobs/memory_store.hpp"
#include "tests/jobs/samples.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

namespace genv::jobs::tests {

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
    static AttemptEnding ending(int status, int signal = 0) {
        return {.status = status, .signal = signal, .reason = {}, .at = at(10)};
    }
    static AttemptEnding lost() {
        return {.status = -1, .signal = 0, .reason = "the machine was restarted", .at = at(10)};
    }
    TaskState stateOf(TaskName task) { return book->task(task).state; }
    const TaskRecord& recordOf(TaskName task) { return book->task(task).record(); }
    JobState jobState(JobNumber job) { return jobs::stateOf(book->job(job)); }
    std::string refusal(JobErrorCode code, const Submission& submission) {
        const std::size_t before = book->jobs().size();
        std::string text = errorOf(code, [&] { submit(submission); });
        EXPECT_EQ(book->jobs().size(), before);
        EXPECT_EQ(store.kept.size(), before);
        return text;
    }

    MemoryStore store;
    std::unique_ptr<Book> book;
    std::set<JobNumber> added;
    std::set<JobNumber> changed;
};

} // namespace genv::jobs::tests
