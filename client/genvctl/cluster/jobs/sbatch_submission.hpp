// SPDX-License-Identifier: LGPL-2.1-or-later
// Submits a job with sbatch.
#pragma once

#include "client/genvctl/jobs/work.hpp"
#include "client/jobs/model/job.hpp"

#include <string_view>

namespace genv::ctl::cluster {

/// Returns Slurm's number of the job. Takes the variables of this shell's environment from this
/// process, so that the job does not get them. Throws Failure.
jobs::JobNumber submitToSlurm(const Work& work);

/// Parses what "sbatch --parsable" prints: "17" or "17;cluster". Throws Failure.
jobs::JobNumber readSubmitted(std::string_view text);

} // namespace genv::ctl::cluster
