// SPDX-License-Identifier: LGPL-2.1-or-later
// Running the real nvidia-smi: to learn from it where things are, and for the person, with its
// output corrected on the way, its signals and its exit status its own.
#pragma once

#include "shims/nvidia_smi/correction.hpp"

#include <functional>
#include <string>
#include <vector>

namespace genv::shims::nvidia_smi {

/// What it prints, at most 4 MiB; empty where it fails. Its messages are thrown away. With a filter
/// it sees the GPUs that the filter shows.
std::string outputOf(const std::string& program, const std::vector<std::string>& arguments,
                     const std::string& filter = {});

/// What the filter told about a run.
struct FilterReport {
    bool hasView = false;        ///< it worked
    bool hasExportTable = false; ///< the program asked for a table that no filter sees
    bool hasNoService = false;   ///< it could not ask the service, and has said so
};

/// Runs it with the filter of this folder in front of NVML where there is one. With a corrector,
/// standard output goes through that; without, the program has it as it is. Signals that somebody
/// sends to this process go on to it; those of a terminal have reached it already. Returns its exit
/// status; where a signal ended it, ends this process by the same one after `onEnd`.
int runReal(const std::string& program, const std::vector<std::string>& arguments,
            const std::string& filter, Corrector* corrector,
            const std::function<void(const FilterReport&)>& onEnd);

} // namespace genv::shims::nvidia_smi
