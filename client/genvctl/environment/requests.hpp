// SPDX-License-Identifier: LGPL-2.1-or-later
// Asking for devices, now or in turn, as every command that does so does it.
#pragma once

#include "client/genvctl/context/context.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace genv::ctl {

/// Client::activate() for the process among the options, or for the kernel that this process is.
/// Throws Failure, Error and Interrupted.
std::string requestEnvironment(Context& context, const ActivateOptions& options);

/// Client::attach(). Throws Failure, Error and Interrupted.
std::vector<std::uint32_t> requestDevices(Context& context, const std::string& environment,
                                          const AttachOptions& options);

} // namespace genv::ctl
