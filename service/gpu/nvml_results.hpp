// SPDX-License-Identifier: LGPL-2.1-or-later
// What the results of NVML's functions mean: a value, its absence, a GPU that does not work, or a
// driver that does not.
#pragma once

#include "core/model/nvml_abi.hpp"

#include <string>
#include <string_view>

namespace genv::service {

/// Thrown where the driver as a whole does not work.
struct DriverFailure {
    nvml::Return result;
};

/// Thrown where one GPU does not work.
struct GpuFailure {
    nvml::Return result;
};

/// Whether there is no driver, rather than one that fails.
bool isMissingDriver(nvml::Return result);

/// Whether the device merely lacks the requested value, which says nothing about its health.
bool isAbsence(nvml::Return result);

/// Whether the driver reports that a GPU is gone, rather than that it did not answer.
bool isLoss(nvml::Return result);

/// Returns whether a call about a GPU returned its value. Throws a GpuFailure or a DriverFailure if
/// the result means that the GPU or the driver does not work.
bool succeeded(nvml::Return result);

/// Requires a value without which a GPU cannot be used: throws as succeeded(), and a GpuFailure for
/// its absence.
void require(nvml::Return result);

/// Returns a text of the driver's so that it can be logged and shown.
std::string showable(std::string_view foreign);

} // namespace genv::service
