// SPDX-License-Identifier: LGPL-2.1-or-later
// The user names on the machine that a command is about.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>

namespace genv::ctl {

class Context;

/// Returns the name of a user, or the uid as text.
using UserNames = std::function<std::string(std::uint32_t)>;

/// Returns a function for the names in this machine's user database. With -H, it knows the users
/// who have an environment on that machine.
UserNames userNames(Context& context);

/// Returns a name and the spelling of it in this machine's user database, if that knows it. Other
/// machines with the same directory server report the user in that spelling.
std::set<std::string> spellingsOf(const std::string& user);

} // namespace genv::ctl
