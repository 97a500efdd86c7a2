// SPDX-License-Identifier: LGPL-2.1-or-later
// Port: the user database, which may be remote (LDAP, SSSD) and slow.
#pragma once

#include "core/base/process.hpp"
#include "core/model/named_ids.hpp"
#include "core/model/user_info.hpp"

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace genv::core {

class Users {
  public:
    virtual ~Users() = default;

    /// Looks up a user. If the database does not know the user, the result has the uid as text and
    /// no groups. If it does not answer in time, the result is its previous reply, or an unknown
    /// user if there is none. `answer` is always called, and immediately if the user is cached.
    /// Only the loop's thread calls this.
    virtual void describe(Uid uid, std::function<void(const UserInfo&)> answer) = 0;

    /// Looks up the users and groups that names stand for, on behalf of `asking`. Asks the database
    /// again each time. A name that it does not answer for in time keeps its previous answer.
    /// `answer` is always called.
    virtual void resolve(Uid asking, const Names& names,
                         std::function<void(const ResolvedNames&)> answer) = 0;
    /// Looks up another user on behalf of `asking`. Such lookups never delay those of other users.
    virtual void describeFor(Uid /*asking*/, Uid uid, std::function<void(const UserInfo&)> answer) {
        describe(uid, std::move(answer));
    }
};

/// Looks up several users and calls back once all are known.
void describeAll(Users& users, const std::set<Uid>& uids,
                 std::function<void(const std::map<Uid, UserInfo>&)> answer);

/// Looks up several users on behalf of `asking`.
void describeAllFor(Users& users, Uid asking, const std::set<Uid>& uids,
                    std::function<void(const std::map<Uid, UserInfo>&)> answer);

} // namespace genv::core
