// SPDX-License-Identifier: LGPL-2.1-or-later
// Whether this process may be in the control group of a Slurm job, found without a libc. The
// service decides: a path that only looks like a job's costs a question.
#pragma once

namespace genv::shims {

/// Whether /proc/self/cgroup names a group of Slurm's and a job. False where it cannot be read.
bool mayBeInJob();

} // namespace genv::shims
