// SPDX-License-Identifier: LGPL-2.1-or-later
// Determines which of NVML's devices an environment sees. Devices are identified by UUID, because a
// handle may differ between calls. A GPU in MIG mode is never a device of an environment itself. It
// is visible as the parent of attached instances, as in CUDA and nvidia-smi.
#pragma once

#include "shims/nvml/entry_points.hpp"
#include "shims/program_view.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace genv::shims {

/// The devices behind an NVML handle.
struct Scope {
    /// The environment's devices there: one device, or the attached instances on a GPU in MIG mode.
    std::vector<const VisibleDevice*> devices;
    bool isParent = false; ///< the handle is a parent of instances

    [[nodiscard]] bool isVisible() const { return !devices.empty(); }
    /// Returns the PIDs of the environment's processes there, sorted.
    [[nodiscard]] std::vector<unsigned> pids() const;
};

/// Returns the UUID of the GPU of an instance, or "".
using ParentFinder = std::function<std::string(const std::string& instance)>;

/// Returns the environment's part of the device or GPU with this UUID. The result points into the
/// view.
Scope scopeOf(const View& view, std::string_view uuid, const ParentFinder& parentOf);

/// A GPU that the program can get by its position among the visible GPUs.
struct VisibleGpu {
    unsigned index = 0;    ///< machine-wide
    nvml::Return result{}; ///< NVML's result; the handle is null unless it is Success
    nvml::Device handle = nullptr;
};

/// Returns visible GPUs in the machine's order, each once.
std::vector<VisibleGpu> inOrder(std::vector<VisibleGpu> gpus);

} // namespace genv::shims
