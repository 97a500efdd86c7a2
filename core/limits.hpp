// SPDX-License-Identifier: LGPL-2.1-or-later
// The numbers an administrator sets, and which of them apply to whom: a user's own over those of
// the user's groups over everybody's.
#pragma once

#include "core/bytes.hpp"
#include "core/process.hpp"

#include <chrono>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace genv::core {

/// A user as the user database knows them.
struct UserInfo {
    Uid uid = 0;
    std::string name; ///< the uid as text where the database has none
    std::vector<std::string> groups;
    bool isUnknown = false; ///< the database did not answer: nothing is known but the uid
};

/// What a user may have at most; what is unset is unlimited, and what is infinite() is unlimited
/// whatever others say.
struct Limits {
    std::optional<std::uint32_t> maxDevices;               ///< distinct devices attached
    std::optional<std::uint32_t> maxDevicesPerEnvironment; ///< attached to any one environment
    std::optional<std::uint32_t> maxEnvironments;          ///< active environments
    std::optional<std::uint32_t> maxProcesses;             ///< compute processes
    std::optional<Bytes> maxGpuMemory;                     ///< over all devices
    std::optional<Bytes> maxGpuMemoryPerDevice;            ///< on any one device
    std::optional<std::chrono::milliseconds> maxLifetime;  ///< of an environment
    std::optional<std::chrono::milliseconds> idleTimeout;  ///< of an attachment

    friend bool operator==(const Limits&, const Limits&) = default;
};

/// The value of a limit that lifts those of groups and of everybody.
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
    std::map<std::string, Limits> users;  ///< by user name
    std::map<std::string, Limits> groups; ///< by group name

    /// What a request of a user is compared with: each limit from the user's own section, else the
    /// most generous of the groups' that set it, else the general one. Root has none. Of an unknown
    /// user the strictest that anybody has: the user may be the one it was set for.
    [[nodiscard]] Limits of(const UserInfo& user) const;

    /// What rules end a user's work for: the same, but of an unknown user the most generous that
    /// anybody has, since nobody's work ends for a limit that may be another's.
    [[nodiscard]] Limits enforcedOn(const UserInfo& user) const;

    friend bool operator==(const LimitTable&, const LimitTable&) = default;
};

} // namespace genv::core
