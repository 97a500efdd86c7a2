// SPDX-License-Identifier: LGPL-2.1-or-later
// Where the jobs of a user on this machine are kept. Homes are shared by machines, so the machine's
// id is part of the path.
#pragma once

#include <filesystem>
#include <string>

namespace genv::jobs {

struct Places {
    std::filesystem::path folder;     ///< $XDG_STATE_HOME/genv/jobs/MACHINE-ID, mode 0700
    std::filesystem::path database;   ///< jobs.sqlite
    std::filesystem::path attempts;   ///< folder of AttemptFiles
    std::filesystem::path logs;       ///< folder; JOB.log or JOB.TASK.log
    std::filesystem::path unfinished; ///< exists while a job waits or runs (genv-jobs.service)
    std::filesystem::path lock;       ///< one genv-jobs at a time
};

/// Returns the places of this user on this machine, without creating anything. Throws JobError
/// (NotSupported) if there is no home or no machine id.
[[nodiscard]] Places places();
/// The folder that holds one folder for each machine.
[[nodiscard]] std::filesystem::path machinesFolder();
/// Creates the folders with mode 0700. Throws JobError (StorageFailed).
void create(const Places& places);

} // namespace genv::jobs
