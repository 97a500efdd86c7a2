// SPDX-License-Identifier: LGPL-2.1-or-later
// Whether the jobs that another one waits for have ended as it wants.
#pragma once

#include "client/jobs/model/job.hpp"

#include <map>
#include <string>

namespace genv::jobs {

enum class Met : std::uint8_t {
    Yes,
    NotYet,
    Never, ///< unless the other job is requeued
};

struct DependencyVerdict {
    Met met = Met::Yes;
    std::string reason;  ///< of Never: "job 12 failed"
    core::WallTime at{}; ///< of Never: when that job ended
};

/// A dependency is decided when all tasks of the other job have ended. One on a job that is no
/// longer in the book is met: only a job that had ended is requeued after it.
[[nodiscard]] DependencyVerdict verdictOn(const Job& job, const std::map<JobNumber, Job>& jobs);

} // namespace genv::jobs
