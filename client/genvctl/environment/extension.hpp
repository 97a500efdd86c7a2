// SPDX-License-Identifier: LGPL-2.1-or-later
// More time for an environment, for "extend" here and on a cluster.
#pragma once

#include <optional>
#include <string>

namespace genv::ctl {

class Context;

/// Extends an environment by so much time from now on, or without one as far as its owner may, and
/// prints when it ends. Throws Failure and Error.
void extendEnvironment(Context& context, const std::string& id,
                       const std::optional<std::string>& lifetime);

} // namespace genv::ctl
