// SPDX-License-Identifier: LGPL-2.1-or-later
// Remembers facts about the driver's devices from sample to sample, even when a helper process is
// replaced. It remembers the devices of a GPU that now reports only "lost", and the XID of each
// device, because the driver reports each XID only once.
#pragma once

#include "core/ports/gpus.hpp"
#include "service/gpu/nvml_protocol.hpp"

#include <map>
#include <optional>
#include <vector>

namespace genv::service {

/// Converts the helper's reports to the core's samples.
class NvmlDevices {
  public:
    /// Processes the next report. Devices are ordered by index: GPUs have NVML's index, and MIG
    /// instances have the indices above, in the order of their GPUs. A device on a failed GPU is
    /// listed with its last facts, marked lost or stale, and without readings. A device that was
    /// never seen working is not listed. An XID stays with its device until a report lacks that
    /// device.
    core::GpuSample update(const NvmlReport& report);

  private:
    struct Device {
        std::uint32_t gpu = 0;
        std::optional<std::uint32_t> mig;
        core::DeviceSample sample;
    };

    void addFailed(const NvmlReport& report, std::vector<Device>& devices) const;
    void applyXids(const NvmlReport& report, std::vector<Device>& devices);

    std::vector<Device> known_;
    std::map<core::DeviceUuid, std::uint32_t> xids_;
};

} // namespace genv::service
