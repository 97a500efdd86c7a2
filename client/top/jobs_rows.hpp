// SPDX-License-Identifier: LGPL-2.1-or-later
// The rows about the jobs of the person at the terminal: a line of totals, and the list.
#pragma once

#include "client/top/choice.hpp"
#include "client/top/frame.hpp"
#include "client/top/span.hpp"

#include <cstddef>
#include <optional>
#include <vector>

namespace genv::top {

/// Returns "jobs  4 running  57 waiting  2 failed": tasks of jobs, as genv-jobs lists them. Nothing
/// if there are none.
std::optional<Line> jobsLine(const Frame& frame);

struct JobsList {
    std::vector<Line> lines;             ///< with a title
    std::optional<std::size_t> selected; ///< line
};
/// Returns the part of the list that has the selected row, in at most this number of lines.
JobsList jobsList(const Frame& frame, const Choice& choice, std::size_t room, std::size_t width);

/// Returns how many rows the list has.
std::size_t jobsCount(const Frame& frame);

} // namespace genv::top
