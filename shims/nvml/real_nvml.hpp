// SPDX-License-Identifier: LGPL-2.1-or-later
// The driver's own functions, which the program may never have bound. If this driver's library
// lacks a function, the result is FunctionNotFound.
#pragma once

#include "shims/nvml/entry_points.hpp"

#include <string>

namespace genv::shims {

/// Returns the address of a driver's function, or null.
void* realFunction(Symbol symbol);

/// Calls the driver's function.
template <Symbol symbol, typename... Args>
nvml::Return callReal(Args... args) {
    const auto function =
        reinterpret_cast<typename SignatureOf<symbol>::Type*>(realFunction(symbol));
    return function != nullptr ? function(args...) : nvml::Return::FunctionNotFound;
}

/// Reads the UUID of a device. The result is the driver's; the text is empty unless it is Success.
nvml::Return readUuid(nvml::Device device, std::string& uuid);

} // namespace genv::shims
