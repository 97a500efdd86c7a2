// SPDX-License-Identifier: LGPL-2.1-or-later
// Asks this machine's NVML everything that genv asks, and a little more. Only functions that read
// are called.
#pragma once

#include <nlohmann/json.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace genv::recording {

/// What NVML answered, as it is, with the machine's own UUIDs and names.
struct NvmlRecording {
    nlohmann::json answers; ///< null if the library could not be asked
    std::string folder;     ///< the library's folder if the dynamic linker does not look there
    std::string error;      ///< why there are no answers, or empty
};

/// Loads the library from the first of these files or names that can be loaded, in a process of its
/// own that may hang or crash, and asks it.
NvmlRecording recordNvml(const std::vector<std::string>& libraries, std::chrono::seconds timeout);

} // namespace genv::recording
