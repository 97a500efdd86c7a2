// SPDX-License-Identifier: LGPL-2.1-or-later
// The calls AddProcess and AddKernel: find the process or Jupyter kernel that is to keep an
// environment alive, and register it once the caller is authorized.
#pragma once

#include "dbus/calls/bus_context.hpp"

#include <string>

namespace genv::dbus {

/// Carries out a call of AddProcess on an existing environment. Throws core::Error for errors that
/// are detected immediately.
void addProcess(const BusContext& context, const Reply<>& reply,
                const core::EnvironmentRecord& environment, core::Pid pid);

/// Carries out a call of AddKernel on an existing environment. Throws core::Error for errors that
/// are detected immediately.
void addJupyterKernel(const BusContext& context, const Reply<>& reply,
                      const core::EnvironmentRecord& environment, std::string jupyterKernel);

} // namespace genv::dbus
