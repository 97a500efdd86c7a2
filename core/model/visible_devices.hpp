// SPDX-License-Identifier: LGPL-2.1-or-later
// The value of CUDA_VISIBLE_DEVICES. The client sets it in shells and commands, and the service
// writes it into the prompt files, so both use one function.
#pragma once

#include "core/model/device.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace genv::core {

/// A device that may be visible to CUDA.
struct CudaVisibleDevice {
    DeviceIndex index = 0;
    DeviceUuid uuid;
};

/// Returns whether a UUID is that of a MIG instance.
bool isInstanceUuid(std::string_view uuid);

/// Returns the attached indices, or the UUIDs with `namesUuids`; "-1" if nothing is attached, which
/// hides every device. CUDA's own indices differ from genv's in three cases: on a machine with MIG
/// instances, which CUDA does not count; while isolation is in force, when CUDA counts only the
/// devices that it can open; and in a Slurm job, where CUDA counts the job's devices.
std::string visibleDevices(std::vector<CudaVisibleDevice> attached, bool namesUuids);

} // namespace genv::core
