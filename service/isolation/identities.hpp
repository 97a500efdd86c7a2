// SPDX-License-Identifier: LGPL-2.1-or-later
// Decides whose grants the kernel gate checks for each uid. A subordinate uid, which containers run
// with, counts as its owner. Exempt uids may open every device. An ambiguous uid gets no rights
// from others: without a block, only its own grants count.
#pragma once

#include "core/settings/settings.hpp"
#include "service/isolation/identity_map.hpp"

#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace genv::service::isolation {

/// The contents of the relevant files below /etc; empty if a file does not exist.
struct IdentityTexts {
    std::string subuid;
    std::string loginDefs; ///< for UID_MIN: smaller uids belong to system users
    std::string passwd;    ///< local users, who own their uids whatever subuid says
};

struct Identities {
    std::vector<IdentityBlock> blocks;
    std::vector<std::string> complaints; ///< sentences about entries without effect
    /// False if the user database did not answer for a user. That user's blocks are missing.
    bool isComplete = true;
};

/// Returns the uid of the user with this name, or nothing if there is no such user. Throws
/// core::UserDatabaseError.
using FindUid = std::function<std::optional<core::Uid>(const std::string& name)>;

/// Any user who can become a uid through newuidmap(1) could use its rights, so a uid gets a block
/// only if exactly one user can become it:
/// - If the uids of two users overlap, the overlap has no block.
/// - Uids below 65536 and those of users in passwd have no owner but themselves.
/// - An exempt uid that is also another user's subordinate uid is not exempt.
/// - The subordinate uids of root do not have root's rights.
/// - The uids of systemd's DynamicUser= are exempt whatever the settings say, because genv-nvml has
///   one of them, except for those of `people`, who are no services. Without "system", those of
///   users in passwd are not exempt either. A name in the settings always exempts its user.
Identities identitiesFrom(const IdentityTexts& texts, const core::IsolationSettings& settings,
                          const FindUid& findUid, const std::set<core::Uid>& people = {});

/// Reads the identity files of a machine.
class IdentityFiles {
  public:
    explicit IdentityFiles(std::filesystem::path etc = "/etc");

    /// Returns whether a file changed since the last call; true on the first call. Does not block.
    bool haveChanged();

    /// Reads the files and looks users up. This may block, so call it on a worker, on a copy of
    /// this object.
    [[nodiscard]] Identities read(const core::IsolationSettings& settings,
                                  const std::set<core::Uid>& people) const;

  private:
    struct Version {
        std::int64_t modified = -1; ///< nanoseconds; -1 if the file does not exist
        std::uint64_t inode = 0;
        std::int64_t size = -1;

        friend bool operator==(const Version&, const Version&) = default;
    };

    std::filesystem::path etc_;
    std::optional<std::vector<Version>> seen_;
};

/// Queries the system's user database. Blocks as long as that takes. Throws
/// core::UserDatabaseError.
std::optional<core::Uid> findSystemUid(const std::string& name);

} // namespace genv::service::isolation
