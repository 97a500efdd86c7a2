// SPDX-License-Identifier: LGPL-2.1-or-later
// The users and groups that the names in a configuration or a request stand for. Several spellings
// may stand for one user: "CORP\\jdoe", "jdoe", "JDoe@corp.example". A user is a uid.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace genv::core {

/// What the user database answers about names of users, or about names of groups.
struct NamedIds {
    std::map<std::uint32_t, std::set<std::string>> names; ///< the spellings of each uid or gid
    std::set<std::string> nobody;                         ///< names that nobody has
    std::set<std::string> unanswered; ///< the database has not answered: they may be anybody's

    friend bool operator==(const NamedIds&, const NamedIds&) = default;
};

/// Names of users and of groups.
struct Names {
    std::set<std::string> users;
    std::set<std::string> groups;

    [[nodiscard]] bool empty() const { return users.empty() && groups.empty(); }
};

/// The answer about Names. Each name is in exactly one place.
struct ResolvedNames {
    NamedIds users;
    NamedIds groups;

    friend bool operator==(const ResolvedNames&, const ResolvedNames&) = default;
};

/// Returns a sentence for each user or group that several sections name, such as "[User jdoe] and
/// [User JDOE] name one user: ...". `kind` is "User" or "Group".
std::vector<std::string> describeSharedIds(const NamedIds& ids, std::string_view kind);

/// Returns the answer of a database that answers nothing.
ResolvedNames unresolved(const Names& names);

} // namespace genv::core
