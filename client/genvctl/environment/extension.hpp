// SPDX-License-Identifier: LGPL-2.1-or-later
// Extends the lease of an environment, for "extend" here and on a cluster.
#pragma once

#include <optional>
#include <string>

namespace genv::ctl {

class Context;

/// Extends an environment by this time from now, or to the limit of its owner if there is no time.
/// Prints the new end. Throws Failure and Error.
void extendEnvironment(Context& context, const std::string& id,
                       const std::optional<std::string>& lifetime);

} // namespace genv::ctl
