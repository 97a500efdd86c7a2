// SPDX-License-Identifier: LGPL-2.1-or-later
// The readings of a machine's GPUs as its nvidia-smi prints them, for machines that have no service
// to be asked. Its output is foreign: what is not exactly a reading is not known.
#pragma once

#include "genv/types.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace genv::monitor {

/// The command whose output is read. An administrator who restricts a key to commands has to let it
/// pass as it is.
const std::vector<std::string>& nvidiaSmiCommand();

/// Reads the output: a line for each device, and in it the index, without which it is none. Devices
/// have what is known of them; a total memory of 0 and an empty UUID or model are not known.
std::vector<DeviceState> readNvidiaSmi(std::string_view output, Time now);

} // namespace genv::monitor
