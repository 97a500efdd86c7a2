// SPDX-License-Identifier: LGPL-2.1-or-later
// Port: the user database, which may be a server far away (LDAP, SSSD) and slow.
#pragma once

#include "core/process.hpp"

#include <functional>
#include <string>

namespace genv::core {

class Users {
  public:
    virtual ~Users() = default;

    /// Tells a user's name, or the uid as text where there is none or the database does not answer
    /// in time. Always answers; at once where the name is known. Called on the loop's thread only.
    virtual void nameOf(Uid uid, std::function<void(const std::string&)> answer) = 0;
};

} // namespace genv::core
