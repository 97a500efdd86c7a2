// SPDX-License-Identifier: LGPL-2.1-or-later
// What CUDA_VISIBLE_DEVICES is to be. The client sets it in shells and commands and the service
// writes it into the prompt files, so one function says it for both.
#pragma once

#include "core/device.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace genv::core {

/// A device as CUDA may be told of it.
struct VisibleDevice {
    DeviceIndex index = 0;
    DeviceUuid uuid;
};

/// Whether a UUID is a MIG instance's.
bool isInstanceUuid(std::string_view uuid);

/// The attached indices, or with `namesUuids` the UUIDs; "-1" when nothing is attached, which hides
/// every device. CUDA's own indices are other ones on a machine with MIG instances, which it does
/// not count, while isolation is in force, when it counts the devices that it can open, and in a
/// Slurm job, where it counts the job's.
std::string visibleDevices(std::vector<VisibleDevice> attached, bool namesUuids);

} // namespace genv::core
