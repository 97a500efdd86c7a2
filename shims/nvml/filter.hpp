// SPDX-License-Identifier: LGPL-2.1-or-later
// The filter's functions, with the names and parameters of the functions that they replace. Each
// calls the driver and corrects its answer. If the service does not report the contents of the
// environment, the driver's answer is passed unchanged.
//
// None of these functions may throw, because the program need not be C++. None is noexcept either,
// because a thread that is canceled while it waits for the driver is unwound through them.
#pragma once

#include "shims/nvml/real_nvml.hpp"

#include <exception>

namespace genv::shims::filter {

#define GENV_X(name, ...) nvml::Return name(__VA_ARGS__);
GENV_NVML_FILTERED(GENV_X)
#undef GENV_X

/// Runs an action that may run out of memory.
template <typename Action>
nvml::Return guarded(Action action) {
    try {
        return action();
    } catch (const std::exception&) {
        return nvml::Return::Memory;
    }
}

} // namespace genv::shims::filter
