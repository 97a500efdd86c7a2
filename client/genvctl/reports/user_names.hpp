// SPDX-License-Identifier: LGPL-2.1-or-later
// The user names on the machine that a command is about.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace genv::ctl {

class Context;

/// Returns the name of a user, or the uid as text.
using UserNames = std::function<std::string(std::uint32_t)>;

/// Returns a function for the names in this machine's user database. With -H, it knows the users
/// who have an environment on that machine.
UserNames userNames(Context& context);

} // namespace genv::ctl
