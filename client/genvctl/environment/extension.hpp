// SPDX-License-Identifier: LGPL-2.1-or-later
// Extends the lease of an environment, for "extend" here and on a cluster.
#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace genv::ctl {

class Context;

/// Parses the TIME of "extend". Throws Failure(Usage) if it is missing or invalid.
std::chrono::seconds requiredLifetime(const std::optional<std::string>& text);

/// Sets the end of a lease to this time from now, or removes the end if there is no time. Prints
/// the new end. Throws Failure and Error.
void extendEnvironment(Context& context, const std::string& id,
                       std::optional<std::chrono::seconds> lifetime);

} // namespace genv::ctl
