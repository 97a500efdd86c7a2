// SPDX-License-Identifier: LGPL-2.1-or-later
// The calls AddProcess and AddKernel: find what is to keep an environment alive, too, and register
// it once the caller may.
#pragma once

#include "dbus/context.hpp"

#include <string>

namespace genv::dbus {

/// Carries out a call of AddProcess on an environment that exists. Throws core::Error for what is
/// wrong at once.
void addProcess(const Context& context, const Reply<>& reply, const core::Environment& environment,
                core::Pid pid);

/// Carries out a call of AddKernel on an environment that exists. Throws core::Error for what is
/// wrong at once.
void addKernel(const Context& context, const Reply<>& reply, const core::Environment& environment,
               std::string kernel);

} // namespace genv::dbus
