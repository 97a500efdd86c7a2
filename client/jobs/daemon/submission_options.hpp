// SPDX-License-Identifier: LGPL-2.1-or-later
// Reads the options of Submit strictly: an unknown option, another type or a value that no job can
// have is refused with a sentence, and nothing is recorded.
#pragma once

#include "client/jobs/daemon/request.hpp"
#include "client/jobs/model/job.hpp"

namespace genv::jobs {

/// Returns the submission that the options of Submit describe. Throws JobError (InvalidArgs), or
/// core::Error for a name or an amount of memory.
[[nodiscard]] Submission readSubmission(Dictionary options);

/// Reads the options of List: whether to list all jobs. Throws JobError (InvalidArgs).
[[nodiscard]] bool readListsAll(Dictionary options);

} // namespace genv::jobs
