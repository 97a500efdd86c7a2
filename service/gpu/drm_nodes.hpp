// SPDX-License-Identifier: LGPL-2.1-or-later
// Finds the DRM nodes (/dev/dri/card0, renderD128) of GPUs with NVIDIA's driver. Their major number
// belongs to the drivers of all makers, so each node counts by its PCI device.
#pragma once

#include "core/ports/gpus.hpp"

#include <filesystem>
#include <vector>

namespace genv::service {

/// Returns the DRM nodes of devices that NVIDIA's driver has bound, by name. `sys` is the mount
/// point of sysfs. Nodes with missing or invalid information are left out.
std::vector<core::DriverNode> findDrmNodes(const std::filesystem::path& sys);

} // namespace genv::service
