// SPDX-License-Identifier: LGPL-2.1-or-later
// Names of users in lines of the log. A line says "uid 1001" until the name is known.
#pragma once

#include "core/base/process.hpp"

#include <set>
#include <string>
#include <string_view>

namespace genv::service::journal {

/// Returns the uids that a line mentions as "uid N".
std::set<core::Uid> uidsIn(std::string_view line);

/// Replaces each "uid N" in a line by the user's name: "alice (N)". A name that is only the number
/// changes nothing.
void nameUser(std::string& line, core::Uid uid, std::string_view name);

} // namespace genv::service::journal
