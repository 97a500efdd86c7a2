// SPDX-License-Identifier: LGPL-2.1-or-later
// Parses the GPU readings printed by nvidia-smi, for machines without a service. The output is not
// trusted: text that is not exactly a reading is treated as unknown.
#pragma once

#include "genv/types.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace genv::monitor {

/// Returns the command whose output is parsed. An administrator who restricts a key to certain
/// commands must allow exactly this one.
const std::vector<std::string>& nvidiaSmiCommand();

/// Parses the output: one line for each device, which must contain the index. Unknown values are
/// unset; a total memory of 0 and an empty UUID or model mean unknown.
std::vector<DeviceState> readNvidiaSmi(std::string_view output, Time now);

} // namespace genv::monitor
