// SPDX-License-Identifier: LGPL-2.1-or-later
// Which device nodes a process must be able to open to use a GPU or a MIG instance. NVML tells the
// minor number of a GPU; those of MIG capabilities are in proc(5) only.
#pragma once

#include "core/device.hpp"

#include <cstdint>
#include <filesystem>
#include <vector>

namespace genv::service {

/// Finds the nodes of devices. Where anything that is needed for it is missing or makes no sense
/// there are none, rather than some of them or another device's.
class NvmlNodes {
  public:
    /// `proc`: where proc(5) is.
    explicit NvmlNodes(std::filesystem::path proc);

    /// Of the whole GPU with this minor number.
    [[nodiscard]] std::vector<core::DeviceNode> ofGpu(std::uint32_t minor) const;

    /// Of a MIG instance on the GPU with this minor number: the GPU's, and those of the
    /// capabilities to use the GPU instance and the compute instance.
    [[nodiscard]] std::vector<core::DeviceNode>
    ofInstance(std::uint32_t minor, std::uint32_t gpuInstance, std::uint32_t computeInstance) const;

  private:
    std::filesystem::path proc_;
};

} // namespace genv::service
