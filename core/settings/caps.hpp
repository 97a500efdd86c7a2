// SPDX-License-Identifier: LGPL-2.1-or-later
// Built-in caps per user, so that a user who floods the service only affects themselves. Root is
// exempt. The administrator cannot change these; configurable limits are in
// core/settings/limits.hpp.
#pragma once

#include <cstddef>

namespace genv::core::caps {

inline constexpr std::size_t environmentsPerUser = 256;
inline constexpr std::size_t processesPerUser = 1024; ///< root processes and Jupyter kernels
inline constexpr std::size_t waitsPerUser = 64; ///< for devices, and the same number for locks

/// Questions that are asked without a prompt take turns; this number is at polkit at a time, of all
/// users together.
inline constexpr std::size_t questionsAtPolkit = 8;
inline constexpr std::size_t questionsPerUser = 256; ///< at polkit, or waiting for a turn
inline constexpr std::size_t promptsPerUser = 8;     ///< open password prompts

inline constexpr std::size_t listCallsPerUser = 64;      ///< calls that wait for a reply
inline constexpr std::size_t startingCallsPerUser = 256; ///< calls whose process is being read

inline constexpr std::size_t callsPerUser = 256; ///< received and not yet started
inline constexpr std::size_t callsPerUserEachSecond =
    1000; ///< rate of starting calls, after a burst of callsPerUser

/// For all connections together whose user is not known yet, since the bus daemon has not replied.
/// No fewer calls than dbus-daemon allows connections: the first call of each has a place.
inline constexpr std::size_t callsOfStrangers = 2048;
inline constexpr std::size_t bytesOfStrangers = std::size_t{16} << 20;

/// The size of one call, also for root: larger than any method needs.
inline constexpr std::size_t valuesPerCall = 4096;
inline constexpr std::size_t bytesPerCall = std::size_t{8}
                                            << 20; ///< also the total size of a user's queued calls
inline constexpr std::size_t bytesPerUsersCall = (std::size_t{1} << 20) + 1024; ///< except root's

/// Reports of a user who may not carry them out, or of whom that is not known yet.
inline constexpr std::size_t reportsPerUser = 1;

inline constexpr std::size_t repeatedEnforcementsPerUser = 4;
inline constexpr std::size_t limitsPerEnforcement =
    1000; ///< users named individually, also for root

} // namespace genv::core::caps
