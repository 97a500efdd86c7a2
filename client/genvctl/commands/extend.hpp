// SPDX-License-Identifier: LGPL-2.1-or-later
// Extending an environment whose id is known.
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
