// SPDX-License-Identifier: LGPL-2.1-or-later
// A database as genv 2.0.0 wrote it. Users have such databases: it never changes, and each later
// version of genv reads it.
#pragma once

namespace genv::jobs::tests {

inline constexpr const char* databaseOfVersion1 = R"(
PRAGMA application_id = 1734700650;
PRAGMA user_version = 1;
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
INSERT INTO jobs VALUES (17, 1800000000000000, 1, 2, 4, 1099511627776, 23, -3, 1800000100000000, 2,
    5, 'sweep', CAST('train' || char(0) || '{}' || char(0) AS BLOB), '/data', '/out', '{"gpus":2}',
    CAST('A=b' || char(0) AS BLOB));
INSERT INTO dependencies VALUES (17, 0, 12, 1);
INSERT INTO tasks VALUES (17, 1, 4, 0, 0, 2, 3, 1, 7, 9, 1800000004000000, 'no disk', 'one');
INSERT INTO tasks VALUES (17, 2, 0, 0, 1, 0, 0, 0, 0, 0, NULL, x'', 'two');
INSERT INTO attempts VALUES (17, 1, 2, 1, 2, 3, 1, 0, '', '');
INSERT INTO attempts VALUES (17, 1, 3, 1800000001000000, 1800000002000000, 1800000003000000, -1, 9,
    'job-17.1', CAST('GPU-1' || char(0) || 'GPU-2' || char(0) AS BLOB));
)";

} // namespace genv::jobs::tests
