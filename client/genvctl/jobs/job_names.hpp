// SPDX-License-Identifier: LGPL-2.1-or-later
// How jobs and their tasks are named on the command line: 17, 17.3, 17.1-20, and after others.
#pragma once

#include "client/jobs/model/job.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace genv::ctl {

/// Tasks of a job: all, one or a range of them.
struct NamedTasks {
    jobs::JobNumber job = 0;
    bool isWhole = true; ///< the whole job; the numbers have no meaning
    std::uint32_t from = 0;
    std::uint32_t to = 0;

    [[nodiscard]] bool isOne() const { return !isWhole && from == to; }
    [[nodiscard]] bool contains(std::uint32_t task) const {
        return isWhole || (from <= task && task <= to);
    }
};

/// Parses JOB, JOB.TASK or JOB.FROM-TO. Throws Failure(Usage).
NamedTasks parseTasks(const std::string& text);
/// Parses JOB or JOB.TASK. Throws Failure(Usage).
NamedTasks parseTask(const std::string& text);

/// Parses the value of --after: JOB[:ok|:fail|:any],... Throws Failure(Usage).
std::vector<jobs::Dependency> parseAfter(const std::string& text);

/// Returns the name as it is typed: "17" or "17.3".
std::string nameOf(jobs::JobNumber job, bool isArray, std::uint32_t task);

} // namespace genv::ctl
