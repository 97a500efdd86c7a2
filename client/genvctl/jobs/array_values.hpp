// SPDX-License-Identifier: LGPL-2.1-or-later
// The value of --array: the tasks of an array, as Slurm's numbers, words or the lines of a file.
#pragma once

#include "client/jobs/model/job.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace genv::ctl {

struct ArrayValues {
    std::vector<jobs::TaskValue> tasks;
    std::uint32_t parallel = 0; ///< how many may run at once; 0 = any number
};

/// Parses an array:
///   1-200  0-100:10  1,2,5-9   numbers, which are both number and value of the tasks
///   a,b,c                      words, numbered from 1; also if only one is not a whole number
///   @FILE                      the lines of a file that are not empty, numbered from 1
/// and after each of them %8, for at most 8 tasks at once. `readLines` returns the text of the
/// file. Throws Failure(Usage).
ArrayValues parseArray(const std::string& text,
                       const std::function<std::string(const std::string& file)>& readLines);

} // namespace genv::ctl
