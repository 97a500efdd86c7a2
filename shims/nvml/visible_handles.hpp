// SPDX-License-Identifier: LGPL-2.1-or-later
// The same with the driver: what an environment sees of NVML's handles.
#pragma once

#include "shims/nvml/visible.hpp"

namespace genv::shims {

/// What the environment has behind a handle. No success is the driver's answer about a handle that
/// it does not know.
nvml::Return readScope(const View& view, nvml::Device handle, Scope& scope);

/// Whether the environment sees this device.
bool isVisible(const View& view, nvml::Device handle);

/// How many GPUs the program finds by their place, those whose handle cannot be had included.
std::size_t countVisibleGpus(const View& view);

/// The GPU at a place, which is below that count.
VisibleGpu visibleGpu(const View& view, std::size_t place);

} // namespace genv::shims
