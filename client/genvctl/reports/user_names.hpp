// SPDX-License-Identifier: LGPL-2.1-or-later
// The names of users on the machine that is meant.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace genv::ctl {

class Context;

/// The name of a user, or the uid as text.
using UserNames = std::function<std::string(std::uint32_t)>;

/// The names as this machine's user database has them; with -H those of the users who have an
/// environment there.
UserNames userNames(Context& context);

} // namespace genv::ctl
