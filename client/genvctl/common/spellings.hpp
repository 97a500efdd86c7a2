// SPDX-License-Identifier: LGPL-2.1-or-later
// The spellings of a user's name. A directory server may know one user by several.
#pragma once

#include <set>
#include <string>

namespace genv::ctl {

/// Returns a name and the spelling of it in this machine's user database, if that knows it. Other
/// machines with the same directory server report the user in that spelling.
std::set<std::string> spellingsOf(const std::string& user);

} // namespace genv::ctl
