// SPDX-License-Identifier: LGPL-2.1-or-later
// Isolation: the kernel counts or refuses opens of a GPU by users who do not hold it. As in
// types.hpp: a struct gets no new member.
#pragma once

#include "genv/types.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace genv {

/// Isolation as it is now. The modes are "none" (the kernel does nothing), "watch" (it counts) and
/// "user" (it refuses).
struct IsolationState {
    std::string mode;                     ///< in force
    std::string wanted;                   ///< as configured
    bool suspended = false;               ///< by an administrator, until the machine starts again
    std::string trouble;                  ///< the problem that keeps it from working; or empty
    std::vector<std::uint32_t> guarded;   ///< devices whose nodes the kernel guards
    std::vector<std::uint32_t> unguarded; ///< the others
    std::vector<std::uint32_t> open;      ///< devices that are configured to be open to everybody
    bool dockerUser = false; ///< genv's docker is configured to run containers as their user
};

/// How often a user opened a device that they did not hold. The kernel refused it, or in mode
/// "watch" only counted it.
struct RefusedOpen {
    std::uint32_t uid = 0;
    std::optional<std::uint32_t> device; ///< its index; unset: no device has this node any more
    std::string node;                    ///< "major:minor"
    std::uint64_t count = 0;             ///< since the machine started
    Time last;
    std::uint32_t pid = 0; ///< of the last process; 0: the kernel does not tell it
    std::string command;   ///< its name, which its user chose
};

/// Every device and environment at one moment, and how often each device was refused.
struct OverviewWithRefusals {
    Overview overview;
    /// By the index of the device, since the service started; without the devices of a service that
    /// does not count.
    std::map<std::uint32_t, std::uint64_t> refusedOpens;
};

} // namespace genv
