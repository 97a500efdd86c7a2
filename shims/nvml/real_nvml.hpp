// SPDX-License-Identifier: LGPL-2.1-or-later
// The driver's own functions, which the program may never have bound. One that this driver's
// library does not have answers FunctionNotFound.
#pragma once

#include "shims/nvml/entry_points.hpp"

#include <string>

namespace genv::shims {

/// The address of a driver's function, or null.
void* realFunction(Symbol symbol);

/// Calls the driver's function.
template <Symbol symbol, typename... Args>
nvml::Return callReal(Args... args) {
    const auto function =
        reinterpret_cast<typename SignatureOf<symbol>::Type*>(realFunction(symbol));
    return function != nullptr ? function(args...) : nvml::Return::FunctionNotFound;
}

/// The UUID of a device. The result is the driver's; the text is empty where it is no success.
nvml::Return readUuid(nvml::Device device, std::string& uuid);

} // namespace genv::shims
