// SPDX-License-Identifier: LGPL-2.1-or-later
// What the service remembers of the driver's devices from sample to sample, whatever becomes of the
// helper processes: which device a GPU was that now says nothing but "lost", and which device had
// an XID, since the driver tells each once.
#pragma once

#include "core/ports/gpus.hpp"
#include "service/gpu/nvml_protocol.hpp"

#include <map>
#include <optional>
#include <vector>

namespace genv::service {

/// Makes the core's samples of the helper's reports.
class NvmlDevices {
  public:
    /// Takes in the next report. Devices are ordered by index: GPUs have NVML's, MIG instances
    /// those above, in the order of their GPUs. A device on a GPU that failed is listed as it was,
    /// lost or stale and without readings; one that was never seen working is not listed. An XID
    /// stays with its device until a report is without it.
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
