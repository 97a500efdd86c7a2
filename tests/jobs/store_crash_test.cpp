// SPDX-License-Identifier: LGPL-2.1-or-later
// The database of jobs on disks that fail or are full, and under processes that are killed: each
// change is there as a whole or not at all, and the caller knows which.
#include "client/descriptor_functions.hpp"
#include "client/jobs/store/folder_lock.hpp"
#include "client/jobs/store/other_machine.hpp"
#include "client/jobs/store/sqlite_store.hpp"
#include "tests/jobs/faulty_disk.hpp"
#include "tests/jobs/samples.hpp"
#include "tests/service/temporary_folder.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <fstream>
#include <random>

namespace genv::jobs::tests {

namespace {

using genv::tests::TemporaryFolder;
namespace fs = std::filesystem;

constexpr std::uint32_t tasks = 40;

Submission large() {
    Submission submission = array(tasks);
    submission.environment = {"TEXT=" + std::string(20'000, 'x')};
    return submission;
}

/// All tasks of a job after one more failure.
std::vector<TaskChange> nextChanges(Job job) {
    std::vector<TaskChange> changes;
    for (Task& task : job.tasks) {
        task.lastAttempt = 1;
        ++task.failures;
        TaskRecord record;
        record.last.environment = std::string(500, 'e');
        task.setRecord(std::move(record));
        changes.push_back({job.number, task});
    }
    return changes;
}

/// The failures of a job, of which every task has the same number.
std::uint32_t failuresOf(const Job& job) {
    EXPECT_EQ(job.tasks.size(), tasks);
    for (const Task& task : job.tasks) {
        EXPECT_EQ(task.failures, job.tasks.front().failures) << "a change is half there";
        EXPECT_EQ(task.record().last.environment.size(), task.failures > 0 ? 500U : 0U);
    }
    return job.tasks.front().failures;
}

class StoreCrashTest : public testing::Test {
  protected:
    /// A namespace of its own, in which folders can be mounted.
    static bool enterNamespace() {
        const uid_t user = ::geteuid();
        if (user != 0 || ::unshare(CLONE_NEWNS) != 0) {
            if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
                return false;
            std::ofstream("/proc/self/uid_map") << user << ' ' << user << " 1";
        }
        return ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
    }
    /// Calls a function in a process in such a namespace. It returns an empty text, or what went
    /// wrong.
    static std::string inNamespace(const std::function<std::string()>& function) {
        std::array<int, 2> ends{};
        EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
        const client::Descriptor reading(ends[0]);
        client::Descriptor writing(ends[1]);
        const pid_t child = ::fork();
        if (child == 0) {
            const std::string text = enterNamespace() ? function() : "no namespace";
            (void)client::writeAll(writing.get(), text);
            ::_exit(0);
        }
        writing.close();
        std::string text;
        std::array<char, 4096> part{};
        ssize_t size = 0;
        while ((size = ::read(reading.get(), part.data(), part.size())) > 0)
            text.append(part.data(), static_cast<std::size_t>(size));
        int status = 0;
        ::waitpid(child, &status, 0);
        return status == 0 ? text : "the process crashed: " + text;
    }

    TemporaryFolder folder;
    fs::path path = folder.path() / "jobs.sqlite";
};

/// Each change of a submission, of a write and of a removal fails once, and for good.
class StoreFaultTest : public StoreCrashTest,
                       public testing::WithParamInterface<std::tuple<FaultyDisk::Fault, bool>> {
  protected:
    StoreFaultTest() {
        SqliteStore store(path);
        store.add(large(), at());
        store.add(single(), at());
        fs::copy_file(path, base);
    }

    /// The jobs and their failures.
    static std::map<JobNumber, std::uint32_t> summary(const std::vector<Job>& all) {
        std::map<JobNumber, std::uint32_t> jobs;
        for (const Job& job : all)
            jobs[job.number] = job.number == 2 ? job.tasks.at(0).failures : failuresOf(job);
        return jobs;
    }

    /// A copy of the same database, and what it holds.
    std::map<JobNumber, std::uint32_t> renew() const {
        fs::remove(path.native() + "-journal");
        fs::copy_file(base, path, fs::copy_options::overwrite_existing);
        SqliteStore store(path);
        return summary(store.load());
    }
    std::map<JobNumber, std::uint32_t> reopened() const {
        SqliteStore store(path);
        return summary(store.load());
    }

    /// As another machine reads it, before anything repairs it.
    std::map<JobNumber, std::uint32_t> seenElsewhere() const {
        return summary(jobsOfOtherMachine(path));
    }

    /// Returns whether the call succeeded on a disk that fails at one of its changes.
    bool callWithFault(std::size_t change, const std::function<void(SqliteStore&)>& call) {
        SqliteStore store(path);
        const auto before = summary(store.load());
        const auto [fault, isForGood] = GetParam();
        faulty.failAfter(change, fault, isForGood);
        bool isDone = true;
        try {
            call(store);
        } catch (const JobError& error) {
            EXPECT_EQ(error.code(), JobErrorCode::StorageFailed);
            isDone = false;
        }
        EXPECT_TRUE(faulty.hasFailed());
        if (isForGood)
            return isDone;
        faulty.repair(); // it goes on with the same connection
        const auto now = summary(store.load());
        const JobNumber next = store.add(single(), at());
        store.remove(std::array{next});
        EXPECT_EQ(summary(store.load()), now);
        EXPECT_TRUE(now != before || !isDone);
        return isDone;
    }

    /// The last write ends the journal, and with it the change. Only if this write or its sync
    /// fails, the change may be there all the same.
    void tryEach(const std::function<void(SqliteStore&)>& call) {
        const auto before = renew();
        std::size_t changes = 0;
        {
            SqliteStore store(path);
            (void)store.load();
            changes = faulty.changes();
            call(store);
            changes = faulty.changes() - changes;
        }
        const auto after = reopened();
        ASSERT_NE(after, before);
        EXPECT_GT(changes, 5U);
        for (std::size_t change = 0; change < changes && !HasFailure(); ++change) {
            renew();
            const bool isDone = callWithFault(change, call);
            faulty.repair();
            const auto result = seenElsewhere();
            EXPECT_EQ(reopened(), result) << "at change " << change;
            const bool isLast = change + 2 >= changes;
            EXPECT_TRUE(result == (isDone ? after : before) || (isLast && result == after))
                << "at change " << change << " of " << changes;
        }
    }

    FaultyDisk faulty; // all that is not a fault is fast on it
    fs::path base = folder.path() / "base";
};

TEST_P(StoreFaultTest, AddsAJobAsAWhole) {
    tryEach([](SqliteStore& store) { (void)store.add(large(), at()); });
}

TEST_P(StoreFaultTest, WritesTasksAsAWhole) {
    tryEach([](SqliteStore& store) { store.write(nextChanges(store.load().at(0))); });
}

TEST_P(StoreFaultTest, RemovesJobsAsAWhole) {
    tryEach([](SqliteStore& store) { store.remove(std::array<JobNumber, 1>{1}); });
}

INSTANTIATE_TEST_SUITE_P(Faults, StoreFaultTest,
                         testing::Combine(testing::Values(FaultyDisk::Fault::Full,
                                                          FaultyDisk::Fault::Broken),
                                          testing::Bool()));

TEST_F(StoreCrashTest, ReturnsTheNumberOfAJobThatIsThereThoughTheLastSyncFailed) {
    FaultyDisk faulty;
    SqliteStore store(path);
    store.add(single(), at());
    const std::size_t before = faulty.changes();
    store.add(single(), at());
    faulty.failAfter(faulty.changes() - before - 1, FaultyDisk::Fault::Broken, false);
    EXPECT_EQ(store.add(single(), at()), 3U);
    EXPECT_TRUE(faulty.hasFailed());
    EXPECT_EQ(store.load().size(), 3U);
}

TEST_F(StoreCrashTest, WritesAnArrayWithTheSyncsOfASingleJob) {
    FaultyDisk disk;
    SqliteStore store(path);
    store.add(single(), at());
    const std::size_t before = disk.syncs();
    store.add(single(), at());
    const std::size_t once = disk.syncs() - before;
    store.add(array(10'000), at());
    EXPECT_EQ(disk.syncs() - before, 2 * once);
}

TEST_F(StoreCrashTest, KeepsWorkingOnAFullDisk) {
    const std::string result = inNamespace([&]() -> std::string {
        if (::mount("tmpfs", folder.path().c_str(), "tmpfs", 0, "size=256k") != 0)
            return "no tmpfs";
        SqliteStore store(path);
        JobNumber added = store.add(single(), at());
        std::string error;
        try {
            for (;;)
                added = store.add(large(), at());
        } catch (const JobError& thrown) {
            error = thrown.what();
        }
        if (error != "cannot write " + path.native() + ": No space left on device")
            return error;
        if (store.load().size() != added || !store.value({1, 0}).empty())
            return "a job was lost";
        store.remove(std::array{added});
        if (store.add(large(), at()) != added + 1)
            return "the space of a removed job is not used";
        return {};
    });
    if (result == "no namespace")
        GTEST_SKIP() << "needs a user namespace";
    EXPECT_EQ(result, "");
}

TEST_F(StoreCrashTest, RefusesAFolderThatCannotBeWritten) {
    { SqliteStore store(path); }
    const std::string result = inNamespace([&]() -> std::string {
        const fs::path& target = folder.path();
        if (::mount(target.c_str(), target.c_str(), nullptr, MS_BIND, nullptr) != 0 ||
            ::mount(nullptr, target.c_str(), nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY, nullptr) !=
                0)
            return "no read-only folder";
        return errorOf(JobErrorCode::StorageFailed, [&] { SqliteStore store(path); });
    });
    if (result == "no namespace" || result == "no read-only folder")
        GTEST_SKIP() << "needs a user namespace";
    EXPECT_EQ(result, "cannot use " + folder.path().native() + ": Read-only file system");
}

/// A process that writes all tasks, again and again, and counts aloud.
class Writer {
  public:
    explicit Writer(const fs::path& path) {
        std::array<int, 2> ends{};
        EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
        output_ = client::Descriptor(ends[0]);
        const client::Descriptor writing(ends[1]);
        pid_ = ::fork();
        if (pid_ == 0) {
            writeOn(path, writing.get());
            ::_exit(1);
        }
    }
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;
    ~Writer() { kill(); }

    /// Waits for so many changes. Returns the number of the last one.
    std::uint32_t await(int changes) {
        for (; changes > 0; --changes)
            EXPECT_EQ(::read(output_.get(), &last_, sizeof last_),
                      static_cast<ssize_t>(sizeof last_));
        return last_;
    }
    /// Kills it. Returns the number of the last change that it counted.
    std::uint32_t kill() {
        if (pid_ > 0) {
            ::kill(pid_, SIGKILL);
            ::waitpid(pid_, nullptr, 0);
            pid_ = 0;
            while (::read(output_.get(), &last_, sizeof last_) ==
                   static_cast<ssize_t>(sizeof last_)) {
            }
        }
        return last_;
    }

  private:
    static void writeOn(const fs::path& path, int output) {
        SqliteStore store(path);
        for (;;) {
            const std::vector<TaskChange> changes = nextChanges(store.load().at(0));
            store.write(changes);
            const std::uint32_t number = changes.front().task.failures;
            if (::write(output, &number, sizeof number) < 0)
                return;
        }
    }

    client::Descriptor output_;
    pid_t pid_ = 0;
    std::uint32_t last_ = 0;
};

TEST_F(StoreCrashTest, HasTheOldOrTheNewStateAfterAKill) {
    { SqliteStore(path).add(large(), at()); }
    std::mt19937 random(1);
    for (int round = 0; round < 40 && !HasFailure(); ++round) {
        Writer writer(path);
        writer.await(1 + static_cast<int>(random() % 3));
        std::array<pollfd, 1> none{};
        ::ppoll(none.data(), 0,
                std::array{timespec{0, static_cast<long>(random() % 2'000'000)}}.data(), nullptr);
        const std::uint32_t counted = writer.kill();
        SqliteStore store(path);
        const std::uint32_t written = failuresOf(store.load().at(0));
        EXPECT_TRUE(written == counted || written == counted + 1) << written << " " << counted;
    }
}

TEST_F(StoreCrashTest, IsReadWhileItsOwnerWrites) {
    // In memory, where the owner writes all the time.
    const std::string result = inNamespace([&]() -> std::string {
        if (::mount("tmpfs", folder.path().c_str(), "tmpfs", 0, nullptr) != 0)
            return "no tmpfs";
        { SqliteStore(path).add(large(), at()); }
        Writer writer(path);
        writer.await(1);
        std::uint32_t last = 1;
        for (int round = 0; round < 100 && !HasFailure(); ++round) {
            try {
                const std::uint32_t read = failuresOf(jobsOfOtherMachine(path).at(0));
                EXPECT_GE(read, std::exchange(last, read));
            } catch (const JobError& error) { // it reads only between two changes
                EXPECT_NE(std::string(error.what()).find("it changes all the time"),
                          std::string::npos)
                    << error.what();
            }
        }
        const std::uint32_t counted = writer.kill();
        EXPECT_GE(failuresOf(jobsOfOtherMachine(path).at(0)), counted);
        return HasFailure() ? "see above" : "";
    });
    if (result == "no namespace")
        GTEST_SKIP() << "needs a user namespace";
    EXPECT_EQ(result, "");
}

} // namespace

} // namespace genv::jobs::tests
