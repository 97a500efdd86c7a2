// SPDX-License-Identifier: LGPL-2.1-or-later
// The preview of NonEnvProcesses= and Isolation=: what they would do to the processes that use GPUs
// outside every environment. `genvctl policy check` prints it.
#pragma once

#include "core/base/process.hpp"
#include "core/model/device.hpp"
#include "core/settings/settings.hpp"

#include <string>
#include <vector>

namespace genv::core {

/// A process on GPUs outside every environment.
struct OutsideProcess {
    struct Use {
        DeviceIndex device = 0;
        bool isRefused = false; ///< isolation guards the device, and the user does not hold it
    };
    Pid pid = 0;
    std::vector<Use> uses;
};

/// Returns a sentence for each setting that concerns these processes of a user.
std::vector<std::string> describeOutside(const std::string& user,
                                         const std::vector<OutsideProcess>& processes,
                                         const Settings& settings);

} // namespace genv::core
