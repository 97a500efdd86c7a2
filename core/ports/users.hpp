// SPDX-License-Identifier: LGPL-2.1-or-later
// Port: the user database, which may be a server far away (LDAP, SSSD) and slow.
#pragma once

#include "core/limits.hpp"
#include "core/process.hpp"

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace genv::core {

class Users {
  public:
    virtual ~Users() = default;

    /// Tells who a user is; the uid as text and no groups where the database does not know them.
    /// Where it does not answer in time, what it said last; an unknown user where it said nothing.
    /// Always answers; at once where they are known. Called on the loop's thread only.
    virtual void describe(Uid uid, std::function<void(const UserInfo&)> answer) = 0;

    /// The same for somebody who wants to know about another user: it never holds up what others
    /// want to know.
    virtual void describeFor(Uid /*asking*/, Uid uid, std::function<void(const UserInfo&)> answer) {
        describe(uid, std::move(answer));
    }
};

/// Describes many users and answers once all are described.
void describeAll(Users& users, const std::set<Uid>& uids,
                 std::function<void(const std::map<Uid, UserInfo>&)> answer);

/// The same for somebody who wants to know about other users.
void describeAllFor(Users& users, Uid asking, const std::set<Uid>& uids,
                    std::function<void(const std::map<Uid, UserInfo>&)> answer);

} // namespace genv::core
