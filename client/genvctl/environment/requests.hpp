// SPDX-License-Identifier: LGPL-2.1-or-later
// Requests devices, with or without waiting, in the same way for every command.
#pragma once

#include "client/genvctl/context/context.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace genv::ctl {

/// Calls Client::activate() for the process or the Jupyter kernel in the options. Throws Failure,
/// Error and Interrupted.
std::string requestEnvironment(Context& context, const ActivateOptions& options);

/// Calls Client::attach(). Throws Failure, Error and Interrupted.
std::vector<std::uint32_t> requestDevices(Context& context, const std::string& environment,
                                          const AttachOptions& options);

} // namespace genv::ctl
