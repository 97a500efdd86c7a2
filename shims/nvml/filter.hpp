// SPDX-License-Identifier: LGPL-2.1-or-later
// The filter's functions, under the names and with the parameters of those that they stand for.
// Each asks the driver and corrects what it says; where the service does not say what the
// environment has, the driver's answer is passed as it is.
//
// None may throw into a program that need not be C++. None is noexcept either: a thread that is
// cancelled while it waits for the driver is unwound through them.
#pragma once

#include "shims/nvml/real_nvml.hpp"

#include <exception>

namespace genv::shims::filter {

#define GENV_X(name, ...) nvml::Return name(__VA_ARGS__);
GENV_NVML_FILTERED(GENV_X)
#undef GENV_X

/// Runs what may run out of memory.
template <typename Action>
nvml::Return guarded(Action action) {
    try {
        return action();
    } catch (const std::exception&) {
        return nvml::Return::Memory;
    }
}

} // namespace genv::shims::filter
