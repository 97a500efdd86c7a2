// SPDX-License-Identifier: LGPL-2.1-or-later
// Determines which device nodes a process must be able to open to use a GPU or a MIG instance. NVML
// reports the minor number of a GPU. Only proc(5) has the minor numbers of MIG capabilities.
#pragma once

#include "core/ports/gpus.hpp"

#include <cstdint>
#include <filesystem>
#include <vector>

namespace genv::service {

/// Finds the nodes of devices. If any information is missing or invalid, the result is empty, so
/// that it is never incomplete or the nodes of another device.
class NvmlNodes {
  public:
    /// `proc` is the mount point of proc(5).
    explicit NvmlNodes(std::filesystem::path proc);

    /// Returns the nodes of the whole GPU with this minor number.
    [[nodiscard]] std::vector<core::DeviceNode> ofGpu(std::uint32_t minor) const;

    /// Returns the nodes of a MIG instance on the GPU with this minor number: the GPU's node and
    /// the nodes of the capabilities to use the GPU instance and the compute instance.
    [[nodiscard]] std::vector<core::DeviceNode>
    ofInstance(std::uint32_t minor, std::uint32_t gpuInstance, std::uint32_t computeInstance) const;

    /// Returns the nodes that belong to no device: nvidiactl, nvidia-modeset, and those to manage
    /// fabrics and to configure and monitor MIG. By their modes, the driver gives the monitor to
    /// everybody and the other two to root.
    [[nodiscard]] std::vector<core::DriverNode> ofDriver() const;

    /// Returns the nodes of ofDriver() that everybody may open.
    [[nodiscard]] std::vector<core::DeviceNode> forEverybody() const;

  private:
    std::filesystem::path proc_;
};

} // namespace genv::service
