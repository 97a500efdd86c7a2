// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/jobs/store/sqlite_store.hpp"

#include "client/descriptor_functions.hpp"
#include "client/jobs/store/schema.hpp"
#include "client/jobs/store/stored_rows.hpp"
#include "core/base/text.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace genv::jobs {

namespace {

[[noreturn]] void unusable(const std::filesystem::path& path, std::string_view why) {
    fail(JobErrorCode::StorageFailed, "cannot use {}: {}", core::escaped(path.native(), 512), why);
}

// SQLite takes the mode of the database for its journal, but creates databases for all to read.
const std::filesystem::path& prepared(const std::filesystem::path& path) {
    if (::access(path.parent_path().c_str(), W_OK | X_OK) < 0)
        unusable(path.parent_path(), std::strerror(errno));
    const client::Descriptor file(
        ::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
    struct stat status {};
    if (!file.isOpen() || ::fstat(file.get(), &status) < 0)
        unusable(path, std::strerror(errno));
    if (!S_ISREG(status.st_mode))
        unusable(path, "it is not a regular file");
    if (status.st_uid != ::geteuid())
        unusable(path, "it belongs to another user");
    if ((status.st_mode & 077) != 0 && ::fchmod(file.get(), 0600) < 0)
        unusable(path, std::strerror(errno));
    return path;
}

Database opened(const std::filesystem::path& path) {
    Database database(prepared(path));
    upgrade(database);
    return database;
}

} // namespace

SqliteStore::SqliteStore(const std::filesystem::path& path)
    : database_(opened(path)),
      addJob_(database_, "INSERT INTO jobs (submitted, is_array, gpus, cpus, memory, umask, "
                         "priority, begin, parallel, retries, name, command, folder, output, "
                         "request, environment) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"),
      addDependency_(database_, "INSERT INTO dependencies (job, position, on_job, condition) "
                                "VALUES (?,?,?,?)"),
      addTask_(database_, "INSERT INTO tasks (job, number, state, held, value) VALUES (?,?,?,?,?)"),
      writeTask_(database_, "UPDATE tasks SET state = ?, wish = ?, held = ?, attempts = ?, "
                            "last_attempt = ?, failures = ?, gpu_seconds = ?, peak_memory = ?, "
                            "ended = ?, reason = ? WHERE job = ? AND number = ?"),
      writeAttempt_(database_, "INSERT OR REPLACE INTO attempts (job, task, number, granted, "
                               "started, ended, status, signal, environment, devices) "
                               "VALUES (?,?,?,?,?,?,?,?,?,?)"),
      value_(database_, "SELECT value FROM tasks WHERE job = ? AND number = ?") {}

std::vector<Job> SqliteStore::load() {
    return readJobs(database_);
}

JobNumber SqliteStore::add(const Submission& submission, core::WallTime submitted) {
    const Plan& plan = submission.plan;
    Transaction transaction(database_);
    addJob_.restart()
        .bind(columnOf(submitted))
        .bind(submission.isArray)
        .bind(std::int64_t{submission.gpus})
        .bind(std::int64_t{submission.cpus})
        .bind(columnOf(submission.memoryBytes))
        .bind(std::int64_t{submission.umask})
        .bind(std::int64_t{plan.priority})
        .bind(columnOf(plan.begin))
        .bind(std::int64_t{plan.parallel})
        .bind(std::int64_t{plan.retries})
        .bindBytes(submission.name)
        .bindBytes(joined(submission.command))
        .bindBytes(submission.folder)
        .bindBytes(submission.output)
        .bindBytes(submission.request)
        .bindBytes(joined(submission.environment))
        .run();
    const std::int64_t number = database_.lastNumber();
    if (!std::in_range<JobNumber>(number))
        fail(JobErrorCode::StorageFailed, "cannot use {}: all job numbers are used",
             database_.name());
    const auto job = static_cast<JobNumber>(number);
    addDependencies(job, plan.after);
    addTasks(job, submission);
    try {
        transaction.commit();
    } catch (const JobError&) { // also after the job is there, when the last sync fails
        database_.rollBack();
        if (!readSubmission(database_, job))
            throw;
    }
    return job;
}

void SqliteStore::addDependencies(JobNumber job, const std::vector<Dependency>& after) {
    std::int64_t position = 0;
    for (const Dependency& dependency : after)
        addDependency_.restart()
            .bind(std::int64_t{job})
            .bind(position++)
            .bind(std::int64_t{dependency.job})
            .bind(static_cast<std::int64_t>(dependency.condition))
            .run();
}

void SqliteStore::addTasks(JobNumber job, const Submission& submission) {
    for (const TaskValue& task : submission.tasks)
        addTask_.restart()
            .bind(std::int64_t{job})
            .bind(std::int64_t{task.number})
            .bind(static_cast<std::int64_t>(TaskState::Waiting))
            .bind(submission.hold)
            .bindBytes(task.value)
            .run();
}

void SqliteStore::write(std::span<const TaskChange> changes) {
    Transaction transaction(database_);
    for (const TaskChange& change : changes) {
        writeTask(change.job, change.task);
        if (change.task.lastAttempt > 0)
            writeAttempt(change.job, change.task);
    }
    transaction.commit();
}

void SqliteStore::writeTask(JobNumber job, const Task& task) {
    const TaskRecord& record = task.record();
    writeTask_.restart()
        .bind(static_cast<std::int64_t>(task.state))
        .bind(static_cast<std::int64_t>(task.wish))
        .bind(task.held)
        .bind(std::int64_t{task.attempts})
        .bind(std::int64_t{task.lastAttempt})
        .bind(std::int64_t{task.failures})
        .bind(std::int64_t{record.gpuTime.count()})
        .bind(columnOf(record.peakMemoryBytes))
        .bind(columnOf(record.ended))
        .bindBytes(record.reason)
        .bind(std::int64_t{job})
        .bind(std::int64_t{task.number})
        .run();
}

void SqliteStore::writeAttempt(JobNumber job, const Task& task) {
    const Attempt& attempt = task.record().last;
    writeAttempt_.restart()
        .bind(std::int64_t{job})
        .bind(std::int64_t{task.number})
        .bind(std::int64_t{task.lastAttempt})
        .bind(columnOf(attempt.granted))
        .bind(columnOf(attempt.started))
        .bind(columnOf(attempt.ended))
        .bind(std::int64_t{attempt.status})
        .bind(std::int64_t{attempt.signal})
        .bindBytes(attempt.environment)
        .bindBytes(joined(attempt.devices))
        .run();
}

void SqliteStore::remove(std::span<const JobNumber> jobs) {
    Transaction transaction(database_);
    for (const char* const text :
         {"DELETE FROM attempts WHERE job = ?", "DELETE FROM tasks WHERE job = ?",
          "DELETE FROM dependencies WHERE job = ?", "DELETE FROM jobs WHERE number = ?"}) {
        Statement statement(database_, text);
        for (const JobNumber job : jobs)
            statement.restart().bind(std::int64_t{job}).run();
    }
    transaction.commit();
}

Submission SqliteStore::submission(JobNumber job) {
    auto submission = readSubmission(database_, job);
    if (!submission)
        fail(JobErrorCode::NoSuchJob, "there is no job {}", job);
    return std::move(*submission);
}

std::string SqliteStore::value(TaskName task) {
    value_.restart().bind(std::int64_t{task.job}).bind(std::int64_t{task.number});
    if (!value_.step())
        fail(JobErrorCode::NoSuchJob, "job {} has no task {}", task.job, task.number);
    std::string value = value_.bytes();
    value_.rest();
    return value;
}

} // namespace genv::jobs
