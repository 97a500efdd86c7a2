// SPDX-License-Identifier: LGPL-2.1-or-later
// The jobs of another machine that shares the home: its database is read, but never written, and
// its genv-jobs may be writing meanwhile.
#pragma once

#include "client/jobs/model/job.hpp"

#include <filesystem>
#include <vector>

namespace genv::jobs {

/// Returns the jobs as they were written last. Throws JobError (StorageFailed).
[[nodiscard]] std::vector<Job> jobsOfOtherMachine(const std::filesystem::path& database);

} // namespace genv::jobs
