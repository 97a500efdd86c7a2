// SPDX-License-Identifier: LGPL-2.1-or-later
// Reads the user and group databases. All programs share these functions, because an entry may be
// larger than any fixed buffer: a group lists all its members. Each call blocks for as long as the
// database takes, which may be on a remote server. core itself does not call them.
#pragma once

#include "core/base/process.hpp"

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace genv::core {

/// The database does not answer, for example because a directory server is unreachable.
class UserDatabaseError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// A user, as in /etc/passwd.
struct UserEntry {
    std::string name; ///< may be any text
    Uid uid = 0;
    Gid gid = 0;
    std::string home;
    std::string shell;
};

/// A group, as in /etc/group, without its members.
struct GroupEntry {
    std::string name; ///< may be any text
    Gid gid = 0;
};

// Each function returns nothing if the database answers that there is no such entry, and throws
// UserDatabaseError if it does not answer.

std::optional<UserEntry> userWithUid(Uid uid);
/// The name may be any spelling that the database accepts, such as "CORP\\jdoe".
std::optional<UserEntry> userNamed(const std::string& name);
std::optional<GroupEntry> groupWithGid(Gid gid);
std::optional<GroupEntry> groupNamed(const std::string& name);

/// Returns the uid or gid that a name in a configuration stands for. A number in digits stands for
/// itself, unless it is somebody's name.
std::optional<Uid> uidOf(const std::string& name);
std::optional<Gid> gidOf(const std::string& name);

/// Returns the user for display: nothing also if the database does not answer.
std::optional<UserEntry> shownUser(Uid uid);

/// Returns all groups of a user, including the user's own.
std::vector<Gid> groupsOf(const UserEntry& user);

} // namespace genv::core
