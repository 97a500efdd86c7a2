// SPDX-License-Identifier: LGPL-2.1-or-later
// Which environments are within which others, as Client::parents() says.
#pragma once

#include <map>
#include <optional>
#include <string>

namespace genv::ctl {

/// The ids of environments within others, and of those.
using Parents = std::map<std::string, std::string>;

/// The environment that this one is within.
inline std::optional<std::string> parentOf(const Parents& parents, const std::string& id) {
    const auto found = parents.find(id);
    return found == parents.end() ? std::nullopt : std::optional(found->second);
}

} // namespace genv::ctl
