// SPDX-License-Identifier: LGPL-2.1-or-later
// Device nodes of NVIDIA's driver that belong to no single GPU.
#pragma once

#include "core/model/device.hpp"

#include <array>
#include <cstdint>

namespace genv::service::isolation {

/// The major number of GPUs, /dev/nvidiactl and /dev/nvidia-modeset, from Linux's list of allocated
/// device numbers.
inline constexpr std::uint32_t nvidiaMajor = 195;
/// The name in /proc/devices of the driver of MIG capability nodes. Its major number is assigned at
/// boot.
inline constexpr const char* migDriver = "nvidia-caps";

/// The major number of DRM (/dev/dri), whose nodes belong to many drivers, from the same list.
inline constexpr std::uint32_t drmMajor = 226;

/// The nodes that stay open for everybody while the gate is active, because every program on any
/// GPU opens them: /dev/nvidiactl and /dev/nvidia-modeset.
inline constexpr std::array<core::DeviceNode, 2> sharedNodes{core::DeviceNode{nvidiaMajor, 255},
                                                             core::DeviceNode{nvidiaMajor, 254}};

} // namespace genv::service::isolation
