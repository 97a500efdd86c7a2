// SPDX-License-Identifier: LGPL-2.1-or-later
// Runs the real nvidia-smi, either to query it or for the user. In the latter case its output is
// corrected, and its signals and exit status are passed on unchanged.
#pragma once

#include "shims/nvidia_smi/correction.hpp"

#include <functional>
#include <string>
#include <vector>

namespace genv::shims::nvidia_smi {

/// Returns the program's output, at most 4 MiB; empty if it fails. Discards its error messages.
/// With a filter, the program sees only the GPUs that the filter shows.
std::string outputOf(const std::string& program, const std::vector<std::string>& arguments,
                     const std::string& filter = {});

/// The filter's report about a run.
struct FilterReport {
    bool hasView = false;        ///< the filter worked
    bool hasExportTable = false; ///< the program requested a table that bypasses the filter
    bool hasNoService = false;   ///< the filter could not query the service, and has reported it
};

/// Runs the program, with the filter in front of NVML if there is one. With a corrector, standard
/// output passes through it; without one, the program inherits standard output. Forwards signals
/// that are sent to this process, except those of a terminal, which the program has already
/// received. Calls `onEnd`, and returns the program's exit status. If a signal ended the program,
/// ends this process with the same signal instead of returning.
int runReal(const std::string& program, const std::vector<std::string>& arguments,
            const std::string& filter, Corrector* corrector,
            const std::function<void(const FilterReport&)>& onEnd);

} // namespace genv::shims::nvidia_smi
