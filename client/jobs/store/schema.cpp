// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/jobs/store/schema.hpp"

#include "client/jobs/model/job_error.hpp"

#include <array>

namespace genv::jobs {

namespace {

// Texts may hold any byte but 0, so they are blobs; a list of texts is one blob, each text with a
// zero byte behind it. Times are in µs since the epoch. Enumerations are their numbers in job.hpp.
// Large columns are the last ones, which are not read for what is before them.
constexpr const char* version1 = R"(
CREATE TABLE jobs (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    submitted INTEGER NOT NULL,
    is_array INTEGER NOT NULL,
    gpus INTEGER NOT NULL,
    cpus INTEGER NOT NULL,
    memory INTEGER NOT NULL,
    umask INTEGER NOT NULL,
    priority INTEGER NOT NULL,
    begin INTEGER,
    parallel INTEGER NOT NULL,
    retries INTEGER NOT NULL,
    name BLOB NOT NULL,
    command BLOB NOT NULL,
    folder BLOB NOT NULL,
    output BLOB NOT NULL,
    request BLOB NOT NULL,
    environment BLOB NOT NULL
);
CREATE TABLE dependencies (
    job INTEGER NOT NULL,
    position INTEGER NOT NULL,
    on_job INTEGER NOT NULL,
    condition INTEGER NOT NULL,
    PRIMARY KEY (job, position)
) WITHOUT ROWID;
CREATE TABLE tasks (
    job INTEGER NOT NULL,
    number INTEGER NOT NULL,
    state INTEGER NOT NULL,
    wish INTEGER NOT NULL DEFAULT 0,
    held INTEGER NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    last_attempt INTEGER NOT NULL DEFAULT 0,
    failures INTEGER NOT NULL DEFAULT 0,
    gpu_seconds INTEGER NOT NULL DEFAULT 0,
    peak_memory INTEGER NOT NULL DEFAULT 0,
    ended INTEGER,
    reason BLOB NOT NULL DEFAULT x'',
    value BLOB NOT NULL,
    PRIMARY KEY (job, number)
) WITHOUT ROWID;
CREATE TABLE attempts (
    job INTEGER NOT NULL,
    task INTEGER NOT NULL,
    number INTEGER NOT NULL,
    granted INTEGER,
    started INTEGER,
    ended INTEGER,
    status INTEGER NOT NULL,
    signal INTEGER NOT NULL,
    environment BLOB NOT NULL,
    devices BLOB NOT NULL,
    PRIMARY KEY (job, task, number)
) WITHOUT ROWID;
)";

constexpr std::array upgrades{version1};

bool isEmpty(Database& database) {
    return database.integer("PRAGMA application_id") == 0 &&
           database.integer("PRAGMA user_version") == 0 &&
           database.integer("SELECT count(*) FROM sqlite_master") == 0;
}

} // namespace

std::span<const char* const> schemaUpgrades() {
    return upgrades;
}

void upgrade(Database& database, std::span<const char* const> steps) {
    Transaction transaction(database);
    if (isEmpty(database))
        database.run(fmt::format("PRAGMA application_id = {}", applicationId).c_str());
    if (database.integer("PRAGMA application_id") != applicationId)
        fail(JobErrorCode::StorageFailed, "{} is not a database of jobs: move it away",
             database.name());
    const auto version = static_cast<std::uint64_t>(database.integer("PRAGMA user_version"));
    if (version > steps.size())
        fail(JobErrorCode::StorageFailed,
             "{} was written by a later version of genv (its format is {}, this version reads up "
             "to {}): install that version again, or move the file away to start without its jobs",
             database.name(), version, steps.size());
    for (std::size_t step = version; step < steps.size(); ++step)
        database.run(steps[step]);
    if (version < steps.size())
        database.run(fmt::format("PRAGMA user_version = {}", steps.size()).c_str());
    transaction.commit();
}

} // namespace genv::jobs
