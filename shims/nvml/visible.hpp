// SPDX-License-Identifier: LGPL-2.1-or-later
// What NVML has handles of, and which of it an environment sees. Devices are known by UUID: a
// handle may differ from call to call. A GPU in MIG mode is itself no device of an environment's;
// it is seen as the parent of attached instances, as CUDA and nvidia-smi know them.
#pragma once

#include "shims/nvml/entry_points.hpp"
#include "shims/view.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace genv::shims {

/// What stands behind a handle of NVML.
struct Scope {
    /// The environment's devices there: one, or for a GPU in MIG mode its attached instances.
    std::vector<const VisibleDevice*> devices;
    bool isParent = false; ///< of instances

    [[nodiscard]] bool isVisible() const { return !devices.empty(); }
    /// The environment's processes there, sorted.
    [[nodiscard]] std::vector<unsigned> pids() const;
};

/// The UUID of the GPU that an instance is on, or "".
using ParentFinder = std::function<std::string(const std::string& instance)>;

/// What the environment has of the device or GPU with this UUID. The result points into the view.
Scope scopeOf(const View& view, std::string_view uuid, const ParentFinder& parentOf);

/// A GPU as the program can get it by its place among the visible ones.
struct VisibleGpu {
    unsigned index = 0;    ///< the machine's
    nvml::Return result{}; ///< what NVML says of it; no success leaves the handle null
    nvml::Device handle = nullptr;
};

/// Visible GPUs in the machine's order, each once.
std::vector<VisibleGpu> inOrder(std::vector<VisibleGpu> gpus);

} // namespace genv::shims
