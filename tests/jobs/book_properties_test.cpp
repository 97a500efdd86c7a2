// SPDX-License-Identifier: LGPL-2.1-or-later
// The book in random schedules, with a disk that is full at times and a daemon that dies at any
// moment: no task is lost or run twice, and every rule of a plan holds.
#include "client/jobs/model/book.hpp"
#include "tests/jobs/memory_store.hpp"
#include "tests/jobs/samples.hpp"

#include <gtest/gtest.h>

#include <random>

namespace genv::jobs::tests {

namespace {

/// What really happens to an attempt, whatever the book knows of it. It outlives the book, as its
/// files do.
struct Truth {
    bool isStarted = false;
    std::optional<AttemptEnding> ending{};
    bool isRevoked = false;

    [[nodiscard]] bool isLive() const { return !ending && !isRevoked; }
};

class RandomSchedule : public testing::TestWithParam<unsigned> {
  protected:
    RandomSchedule() { reopen(); }

    unsigned below(std::size_t limit) {
        return std::uniform_int_distribution<unsigned>(0, static_cast<unsigned>(limit) - 1)(random);
    }
    bool oneIn(unsigned limit) { return below(limit) == 0; }
    core::WallTime now() const { return at(clock); }

    /// A start of the daemon: facts that were not written come again from the files of attempts.
    void reopen() {
        book = std::make_unique<Book>(store);
        requested.clear();
        book->observe([this](const std::set<JobNumber>& added, const std::set<JobNumber>& changed) {
            told.insert(added.begin(), added.end());
            told.insert(changed.begin(), changed.end());
        });
        for (const AttemptName& attempt : book->openAttempts())
            report(attempt);
        shown = book->jobs();
    }

    /// Tells the book what is true of an attempt.
    void report(AttemptName attempt) {
        const auto known = truths.find(attempt);
        if (known == truths.end() || known->second.isRevoked) {
            book->notStarted(attempt, now());
            return;
        }
        if (known->second.isStarted)
            book->started(attempt, now());
        if (known->second.ending)
            book->ended(attempt, *known->second.ending);
    }

    TaskName anyTask() {
        auto job = book->jobs().begin();
        std::advance(job, below(book->jobs().size()));
        return {job->first, job->second.tasks[below(job->second.tasks.size())].number};
    }
    std::vector<std::uint32_t> anyTasksOf(JobNumber number) {
        std::vector<std::uint32_t> tasks;
        if (oneIn(2))
            for (const Task& task : book->job(number).tasks)
                if (oneIn(3))
                    tasks.push_back(task.number);
        return tasks;
    }
    std::vector<AttemptName> live() const {
        std::vector<AttemptName> attempts;
        for (const auto& [attempt, truth] : truths)
            if (truth.isLive())
                attempts.push_back(attempt);
        return attempts;
    }

    Submission anySubmission() {
        Submission submission = oneIn(2) ? single() : array(1 + below(12));
        submission.hold = oneIn(8);
        Plan& plan = submission.plan;
        plan.priority = static_cast<int>(below(3)) - 1;
        plan.retries = below(3);
        plan.parallel = submission.isArray ? below(4) : 0;
        if (oneIn(4))
            plan.begin = at(clock + below(200));
        while (!book->jobs().empty() && oneIn(3))
            plan.after.push_back({anyTask().job, static_cast<Condition>(below(3))});
        return submission;
    }

    // The steps. A request may meet a full disk; then nothing may have changed.
    void request(const std::function<void()>& call) {
        const std::map<JobNumber, Job> before = book->jobs();
        try {
            call();
        } catch (const JobError& error) {
            EXPECT_TRUE(store.isFull || error.code() != JobErrorCode::StorageFailed)
                << error.what();
            expectSame(before, book->jobs());
        }
    }
    void beginOne() {
        const std::vector<TaskName> wanted = book->wanted(requested, now());
        std::set<TaskName> kept(wanted.begin(), wanted.end());
        requested = std::move(kept);
        if (wanted.empty())
            return;
        const TaskName task = wanted[below(wanted.size())];
        request([&] {
            const AttemptName attempt = book->begin(task, "env", {"GPU-1"}, now());
            EXPECT_TRUE(truths.emplace(attempt, Truth{}).second) << "attempt is named twice";
            requested.erase(task);
        });
    }
    void advanceAttempt() {
        const std::vector<AttemptName> attempts = live();
        if (attempts.empty())
            return;
        const AttemptName attempt = attempts[below(attempts.size())];
        Truth& truth = truths.at(attempt);
        if (!truth.isStarted && oneIn(4))
            truth.isRevoked = true;
        else if (!truth.isStarted)
            truth.isStarted = true;
        else
            end(attempt, truth);
        if (!oneIn(10)) // else the daemon sees it later
            report(attempt);
    }
    void end(AttemptName attempt, Truth& truth) {
        const int status = oneIn(3) ? static_cast<int>(below(3)) - 1 : 0;
        truth.ending = AttemptEnding{.status = status, .signal = 0, .reason = {}, .at = now()};
        if (truth.ending->isSuccess() && book->task(attempt.task).wish == Wish::None) {
            EXPECT_TRUE(succeeded.insert(attempt.task).second) << "a task succeeded twice";
        }
    }
    void reportAll() {
        for (const auto& [attempt, truth] : truths)
            report(attempt);
    }
    void requeue(JobNumber job) {
        request([&] {
            for (const TaskName& task : book->requeue(job, anyTasksOf(job)))
                succeeded.erase(task);
        });
    }

    void step() {
        clock += oneIn(50) ? std::int64_t{below(2000)} - 1000 : below(5);
        store.isFull = oneIn(6);
        const unsigned kind = below(100);
        if (book->jobs().empty() || kind < 8)
            request([&] { (void)book->submit(anySubmission(), now()); });
        else if (kind < 45)
            beginOne();
        else if (kind < 85)
            advanceAttempt();
        else if (kind < 88)
            reopenOrWrite();
        else
            ask(kind, anyTask().job);
    }
    void reopenOrWrite() {
        if (oneIn(2)) {
            store.isFull = false;
            EXPECT_TRUE(book->writeAgain());
            expectSame(book->jobs(), store.kept);
        }
        store.isFull = false; // a daemon starts only with a database that it can write
        reopen();
    }
    void ask(unsigned kind, JobNumber job) {
        if (kind < 90)
            request([&] { (void)book->cancel(job, anyTasksOf(job), now()); });
        else if (kind < 92)
            request([&] { (void)book->hold(job, anyTasksOf(job)); });
        else if (kind < 95)
            request([&] { (void)book->release(job, anyTasksOf(job)); });
        else if (kind < 97)
            requeue(job);
        else if (kind < 98)
            book->refused(anyTask(), "refused", now());
        else if (kind < 99)
            sample();
        else
            request([&] { (void)book->forget(now()); });
    }

    // A sample is not worth a signal.
    void sample() {
        for (const AttemptName& attempt : live())
            book->used(attempt, below(100));
        shown = book->jobs();
    }

    // What must hold after each step.
    static void expectSame(const std::map<JobNumber, Job>& one,
                           const std::map<JobNumber, Job>& other) {
        ASSERT_EQ(one.size(), other.size());
        for (const auto& [number, job] : one) {
            ASSERT_TRUE(other.contains(number));
            EXPECT_EQ(job.tasks, other.at(number).tasks) << "job " << number;
            EXPECT_EQ(job.plan, other.at(number).plan);
        }
    }
    void expectRules() {
        std::map<JobNumber, std::size_t> running;
        for (const auto& [number, job] : book->jobs()) {
            EXPECT_EQ(job.progress, progressOf(job));
            EXPECT_TRUE(job.plan.parallel == 0 || job.progress.running <= job.plan.parallel);
            for (const Task& task : job.tasks) {
                EXPECT_FALSE(task.held && task.state != TaskState::Waiting);
                EXPECT_FALSE(task.wish != Wish::None && !task.isOpen());
                EXPECT_EQ(hasEnded(task.state), task.record().ended.has_value());
            }
        }
        std::set<TaskName> lived;
        for (const AttemptName& attempt : live()) {
            EXPECT_TRUE(lived.insert(attempt.task).second) << "two attempts of a task live";
            EXPECT_EQ(book->task(attempt.task).lastAttempt, attempt.attempt);
            EXPECT_TRUE(book->task(attempt.task).isOpen());
        }
        std::set<TaskName> open;
        for (const auto& [attempt, kept] : store.attempts)
            EXPECT_TRUE(kept.ended || open.insert(attempt.task).second) << "two are recorded";
        EXPECT_EQ(book->wanted(requested, now()), wantedByTheRules());
    }
    void expectAllIsTold() {
        for (const auto& [number, job] : book->jobs()) {
            const auto before = shown.find(number);
            const bool isNews = before == shown.end() || before->second.tasks != job.tasks;
            EXPECT_TRUE(!isNews || told.contains(number)) << "job " << number;
        }
        shown = book->jobs();
        told.clear();
    }
    static bool isMet(const Job& other, Condition condition) {
        const Progress count = progressOf(other);
        if (count.waiting + count.held + count.running > 0)
            return false;
        const bool hasFailed = count.failed + count.lost > 0;
        return condition == Condition::Any ||
               (condition == Condition::Fail ? hasFailed : count.done == other.tasks.size());
    }
    bool mayStart(const Job& job, const Task& task) const {
        if (task.state != TaskState::Waiting || task.held ||
            (job.plan.begin && *job.plan.begin > now()))
            return false;
        return std::ranges::all_of(job.plan.after, [&](const Dependency& dependency) {
            const auto other = book->jobs().find(dependency.job);
            return other == book->jobs().end() || isMet(other->second, dependency.condition);
        });
    }
    // The rules once more, without an index.
    std::vector<TaskName> wantedByTheRules() const {
        struct Candidate {
            std::int32_t order;
            bool isNew;
            TaskName name;
            auto operator<=>(const Candidate&) const = default;
        };
        std::vector<Candidate> candidates;
        for (const auto& [number, job] : book->jobs())
            for (const Task& task : job.tasks)
                if (const TaskName name{number, task.number}; mayStart(job, task))
                    candidates.push_back({-job.plan.priority, !requested.contains(name), name});
        std::ranges::sort(candidates);
        std::map<JobNumber, std::size_t> taken;
        std::vector<Candidate> chosen;
        for (const Candidate& candidate : candidates) {
            const Job& job = book->job(candidate.name.job);
            const bool isFull = job.plan.parallel > 0 &&
                                job.progress.running + taken[job.number] >= job.plan.parallel;
            if (isFull || chosen.size() == Book::maxRequests)
                continue;
            ++taken[job.number];
            chosen.push_back({candidate.order, false, candidate.name});
        }
        std::ranges::sort(chosen);
        std::vector<TaskName> names;
        for (const Candidate& candidate : chosen)
            names.push_back(candidate.name);
        return names;
    }
    void finishAll() {
        store.isFull = false;
        clock += 100'000;
        for (const auto& [number, job] : std::map(book->jobs()))
            (void)book->release(number, {});
        reportAll();
        for (int round = 0; round < 20'000 && book->isUnfinished(); ++round) {
            beginOne();
            advanceAttempt();
            reportAll();
        }
    }

    std::mt19937 random{GetParam()};
    MemoryStore store;
    std::unique_ptr<Book> book;
    std::set<TaskName> requested;
    std::map<AttemptName, Truth> truths;
    std::set<TaskName> succeeded;
    std::set<JobNumber> told;
    std::map<JobNumber, Job> shown;
    std::int64_t clock = 0;
};

TEST_P(RandomSchedule, LosesNoTaskAndRunsNoneTwice) {
    for (int count = 0; count < 1000 && !HasFailure(); ++count) {
        step();
        expectRules();
        expectAllIsTold();
    }
    finishAll();
    EXPECT_FALSE(book->isUnfinished());
    EXPECT_TRUE(live().empty());
    EXPECT_TRUE(book->writeAgain());
    expectSame(book->jobs(), store.kept);
    for (const TaskName& task : succeeded)
        EXPECT_TRUE(!book->jobs().contains(task.job) || hasEnded(book->task(task).state));
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomSchedule, testing::Range(1U, 7U));

} // namespace

} // namespace genv::jobs::tests
