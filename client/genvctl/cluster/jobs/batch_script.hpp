// SPDX-License-Identifier: LGPL-2.1-or-later
// The script that sbatch gets: a shell script that runs the user's command or script, with the
// value of the task in place of "{}" and in $GENV_ARRAY_TASK. A node needs no genv to run it. A
// comment at its start keeps the words of the command, so that they can be shown later. Foreign
// text in it is always quoted.
#pragma once

#include "client/genvctl/jobs/work.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace genv::ctl::cluster {

/// Returns the text of the script. Lines "#SBATCH ..." at the start of the user's script stay at
/// its start.
std::string batchScript(const Work& work);

/// Returns the lines "#SBATCH ..." of the user's script that sbatch reads.
std::vector<std::string> sbatchLines(std::string_view script);

/// What a batch script says about the work of its job.
struct BatchedWork {
    std::vector<std::string> words;              ///< of the command, or of the script
    std::vector<std::uint32_t> tasks;            ///< of an array
    std::map<std::uint32_t, std::string> values; ///< of tasks whose value is not their number
};
/// Parses a batch script that genvctl wrote. Returns nothing for any other text.
std::optional<BatchedWork> readBatchScript(std::string_view text);

} // namespace genv::ctl::cluster
