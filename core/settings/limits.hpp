// SPDX-License-Identifier: LGPL-2.1-or-later
// The limits that an administrator sets, and how they apply to a user. A user's own limit overrides
// those of the user's groups, which override the general one.
#pragma once

#include "core/base/bytes.hpp"
#include "core/base/process.hpp"
#include "core/model/named_ids.hpp"
#include "core/model/user_info.hpp"

#include <chrono>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace genv::core {

/// The maximum of each resource for a user. An unset limit is unlimited. A limit of infinite() is
/// unlimited even if a more general section sets one.
struct Limits {
    std::optional<std::uint32_t> maxDevices;               ///< distinct devices attached
    std::optional<std::uint32_t> maxDevicesPerEnvironment; ///< attached to any one environment
    std::optional<std::uint32_t> maxEnvironments;          ///< active environments
    std::optional<std::uint32_t> maxProcesses;             ///< compute processes
    std::optional<Bytes> maxGpuMemory;                     ///< over all devices
    std::optional<Bytes> maxGpuMemoryPerDevice;            ///< on any one device
    std::optional<std::chrono::milliseconds> maxLifetime;  ///< lifetime of an environment
    std::optional<std::chrono::milliseconds> idleTimeout;  ///< idle time of an attachment
    std::optional<std::uint32_t> weight =
        std::nullopt; ///< no limit: the user's weight in the queue's fair order
    /// An allowance: this number of devices on loan does not count towards the limits on devices
    /// and their memory. Unset: every device counts.
    std::optional<std::uint32_t> maxPreemptibleDevices = std::nullopt;

    friend bool operator==(const Limits&, const Limits&) = default;
};

/// Returns the value that overrides the limits of groups and the general limits.
template <typename Value>
constexpr Value infinite() {
    if constexpr (std::is_same_v<Value, Bytes>)
        return {std::numeric_limits<std::uint64_t>::max()};
    else if constexpr (std::is_same_v<Value, std::chrono::milliseconds>)
        return std::chrono::milliseconds::max();
    else
        return std::numeric_limits<Value>::max();
}

/// The limits of a configuration.
struct LimitTable {
    Limits general;
    std::map<std::string, Limits> users;  ///< by user name, in any spelling
    std::map<std::string, Limits> groups; ///< by group name
    /// The users and groups that these names stand for. Without it, a user's section is found by
    /// the user's exact name.
    ResolvedNames ids{};

    /// Returns the names of the sections.
    [[nodiscard]] Names names() const;

    /// Returns the limits for admission. Each limit comes from the user's own section, the
    /// strictest if there are several, else it is the most generous one of the user's groups, else
    /// the general one. Root has no limits. If the database has not answered about the user or
    /// about a section, the user gets the strictest limit that may be theirs.
    [[nodiscard]] Limits of(const UserInfo& user) const;
    /// Returns the limits for rules that end a user's work. They are the same, except that in doubt
    /// the user gets the most generous limit that may be theirs: nobody's work may end because of
    /// another user's limit.
    [[nodiscard]] Limits enforcedOn(const UserInfo& user) const;

    /// Returns the weight of a user in the fair order of the queue: the smallest one of the user's
    /// own sections, else the largest one of the user's groups, else the default. In doubt, it is
    /// the smallest one that may be the user's.
    [[nodiscard]] std::uint32_t weightOf(const UserInfo& user) const;

    friend bool operator==(const LimitTable&, const LimitTable&) = default;
};

} // namespace genv::core
