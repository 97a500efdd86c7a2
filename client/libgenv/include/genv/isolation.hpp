// SPDX-License-Identifier: LGPL-2.1-or-later
// Isolation: the kernel counts or refuses opens of a GPU by users who do not hold it.
#pragma once

#include "genv/types.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace genv {

/// The current state of isolation. The modes are "none" (the kernel does nothing), "watch" (the
/// kernel counts opens) and "user" (the kernel refuses them).
struct IsolationState {
    std::string mode;       ///< the mode in force
    std::string wanted;     ///< the configured mode
    bool suspended = false; ///< by an administrator, until the machine restarts
    std::string trouble;    ///< the reason why isolation does not work; empty if it does
    std::vector<std::uint32_t> guarded;   ///< devices whose device nodes the kernel guards
    std::vector<std::uint32_t> unguarded; ///< all other devices
    std::vector<std::uint32_t> open;      ///< devices configured to be open to every user
    bool dockerUser = false;              ///< whether genv's docker runs containers as their user
    bool guardsRenderNodes = false; ///< whether the kernel also guards the DRM nodes (/dev/dri)
};

/// How often a user opened a device without holding it. The kernel refused each of these opens or,
/// if "watch" is configured, would have refused it.
struct RefusedOpen {
    std::uint32_t uid = 0;
    std::optional<std::uint32_t> device; ///< its index; unset: no device has this node any more
    std::string node;        ///< its name, such as "GPU 0"; "major:minor" if it has none
    std::uint64_t count = 0; ///< since the machine started
    Time last;
    std::uint32_t pid = 0; ///< PID of the last process; 0: not reported by the kernel
    std::string command;   ///< name of that process, chosen by its user
};

} // namespace genv
