// SPDX-License-Identifier: LGPL-2.1-or-later
// The calls AddProcess and AddKernel: find the process or kernel that is to keep an environment
// alive, and register it once the caller is authorized.
#pragma once

#include "dbus/context.hpp"

#include <string>

namespace genv::dbus {

/// Carries out a call of AddProcess on an existing environment. Throws core::Error for errors that
/// are detected immediately.
void addProcess(const Context& context, const Reply<>& reply, const core::Environment& environment,
                core::Pid pid);

/// Carries out a call of AddKernel on an existing environment. Throws core::Error for errors that
/// are detected immediately.
void addKernel(const Context& context, const Reply<>& reply, const core::Environment& environment,
               std::string kernel);

} // namespace genv::dbus
