// SPDX-License-Identifier: LGPL-2.1-or-later
// Determines without a libc whether this process may be in the control group of a Slurm job. The
// service makes the decision. A path that only resembles a job's costs one extra query.
#pragma once

namespace genv::shims {

/// Returns whether /proc/self/cgroup names a group of Slurm and a job; false if it cannot be read.
bool mayBeInJob();

} // namespace genv::shims
