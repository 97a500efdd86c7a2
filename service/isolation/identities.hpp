// SPDX-License-Identifier: LGPL-2.1-or-later
// Whose uids the kernel's gate takes for whose: subordinate uids, which containers run with, count
// as their owner's, and exempt ones may open every device. What is unclear gives nobody anything:
// a uid without a block is judged by its own grants.
#pragma once

#include "core/settings.hpp"
#include "service/isolation/identity_map.hpp"

#include <filesystem>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace genv::service::isolation {

/// The files that it depends on, as they stand below /etc; empty for one that is not there.
struct IdentityTexts {
    std::string subuid;
    std::string loginDefs; ///< UID_MIN: below it are system users
    std::string passwd;    ///< users of this machine, whose uids are theirs whatever subuid says
};

struct Identities {
    std::vector<IdentityBlock> blocks;
    std::vector<std::string> complaints; ///< sentences on what has no effect, and why
    /// The user database did not answer for a user, whose blocks are then missing.
    bool isComplete = true;
};

/// The user database does not answer, such as a directory service that is away.
class UserDatabaseError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// The uid of a user by name; nothing if there is no such user. Throws UserDatabaseError.
using FindUid = std::function<std::optional<core::Uid>(const std::string& name)>;

/// Whoever may become a uid by newuidmap(1) could use its rights, so a block is given only if one
/// user can:
/// - Where the uids of two users overlap, the overlap has no block.
/// - Uids below 65536 and those of users in passwd have no owner but themselves.
/// - An exempt uid that is another user's subordinate uid is not exempt.
/// - The subordinate uids of root have no rights of root's.
/// - The uids of systemd's DynamicUser= are exempt whatever the settings say, since genv-nvml has
///   one of them. Without "system" those of users in passwd are not.
Identities identitiesFrom(const IdentityTexts& texts, const core::IsolationSettings& settings,
                          const FindUid& findUid);

/// Those files of a machine.
class IdentityFiles {
  public:
    explicit IdentityFiles(std::filesystem::path etc = "/etc");

    /// Whether one of them changed since the last call; the first call says yes. Does not block.
    bool haveChanged();

    /// Reads them and looks users up, which may block: for a worker, on a copy of this.
    [[nodiscard]] Identities read(const core::IsolationSettings& settings) const;

  private:
    struct Version {
        std::int64_t modified = -1; ///< nanoseconds; -1 for a file that is not there
        std::uint64_t inode = 0;
        std::int64_t size = -1;

        friend bool operator==(const Version&, const Version&) = default;
    };

    std::filesystem::path etc_;
    std::optional<std::vector<Version>> seen_;
};

/// Asks the system's user database; blocks for as long as that takes. Throws UserDatabaseError.
std::optional<core::Uid> findSystemUid(const std::string& name);

} // namespace genv::service::isolation
