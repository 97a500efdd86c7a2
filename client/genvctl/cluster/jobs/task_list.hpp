// SPDX-License-Identifier: LGPL-2.1-or-later
// Slurm's lists of the tasks of an array: "1-3,5,10-30:10%8".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace genv::ctl::cluster {

struct TaskList {
    std::vector<std::uint32_t> numbers; ///< in the order of the text
    std::uint32_t parallel = 0;         ///< how many may run at once; 0 = any number
};

/// Parses a list, also one in brackets. Returns nothing for any other text, such as a list that
/// Slurm has cut.
std::optional<TaskList> parseTaskList(std::string_view text);

/// Returns the shortest list of these numbers, which must be sorted: "1-3,5,10-30:10".
std::string taskListText(const std::vector<std::uint32_t>& numbers);

} // namespace genv::ctl::cluster
