// SPDX-License-Identifier: LGPL-2.1-or-later
// Determines which of NVML's handles an environment sees, with the help of the driver.
#pragma once

#include "shims/nvml/visible.hpp"

namespace genv::shims {

/// Reads the environment's part of a handle. A result other than Success is the driver's answer
/// about a handle that it does not know.
nvml::Return readScope(const View& view, nvml::Device handle, Scope& scope);

/// Returns whether the environment sees this device.
bool isVisible(const View& view, nvml::Device handle);

/// Returns the number of GPUs that the program finds by position, including those whose handle is
/// unavailable.
std::size_t countVisibleGpus(const View& view);

/// Returns the GPU at a position, which must be less than that number.
VisibleGpu visibleGpu(const View& view, std::size_t place);

} // namespace genv::shims
