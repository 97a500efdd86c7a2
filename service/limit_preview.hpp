// SPDX-License-Identifier: LGPL-2.1-or-later
// The preview of `genvctl policy check`: which users exceed the limits of a file or use GPUs
// outside every environment, and what happens to them when the file is in force.
#pragma once

#include "core/settings/settings.hpp"

#include <string>
#include <vector>

namespace genv::service {

/// Returns a sentence for each user and limit. `used` has one text per user with the use that
/// GetLimits reports: "1001:MaxDevicesPerUser=3,MaxEnvironmentsPerUser=1". Looks users and groups
/// up, which may block. Throws core::Error(InvalidArgs) for other texts.
std::vector<std::string> previewLimits(core::Settings settings,
                                       const std::vector<std::string>& used);

/// Returns a sentence for each user and each setting about processes outside every environment.
/// `outside` has one text per process that NonEnvProcesses= may end, with its user, PID and GPUs,
/// and whether the user holds them: "1001:4711:0=UUID=held,1=UUID=". Looks users up, which may
/// block. Throws core::Error(InvalidArgs) for other texts.
std::vector<std::string> previewOutside(const core::Settings& settings,
                                        const std::vector<std::string>& outside);

} // namespace genv::service
