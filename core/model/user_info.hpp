// SPDX-License-Identifier: LGPL-2.1-or-later
// What the user database says about a user.
#pragma once

#include "core/base/process.hpp"

#include <string>
#include <vector>

namespace genv::core {

/// A user, from the user database.
struct UserInfo {
    Uid uid = 0;
    std::string name; ///< the uid as text if the database has no name
    std::vector<Gid> groups;
    bool isUnknown = false; ///< the database did not answer, so only the uid is known
};

} // namespace genv::core
