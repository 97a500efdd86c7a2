// SPDX-License-Identifier: LGPL-2.1-or-later
// The ranges of device numbers on Linux (linux/kdev_t.h).
#pragma once

#include <cstdint>

namespace genv::service {

inline constexpr std::uint32_t maxNodeMajor = (1U << 12U) - 1;
inline constexpr std::uint32_t maxNodeMinor = (1U << 20U) - 1;

} // namespace genv::service
