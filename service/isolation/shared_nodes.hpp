// SPDX-License-Identifier: LGPL-2.1-or-later
// Device nodes of NVIDIA's driver that belong to no single GPU.
#pragma once

#include "core/device.hpp"

#include <array>
#include <cstdint>

namespace genv::service::isolation {

/// Of GPUs, /dev/nvidiactl and /dev/nvidia-modeset, in Linux's list of allocated device numbers.
inline constexpr std::uint32_t nvidiaMajor = 195;
/// As /proc/devices calls the major number of MIG instances' nodes, which is given out at boot.
inline constexpr const char* migDriver = "nvidia-caps";

/// Open for everybody while the gate stands, since every program on any GPU opens them:
/// /dev/nvidiactl and /dev/nvidia-modeset.
inline constexpr std::array<core::DeviceNode, 2> sharedNodes{core::DeviceNode{nvidiaMajor, 255},
                                                             core::DeviceNode{nvidiaMajor, 254}};

} // namespace genv::service::isolation
