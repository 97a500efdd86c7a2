// SPDX-License-Identifier: LGPL-2.1-or-later
// The service's own caps per user, so that one user's flood is that user's problem. Root is exempt.
// These are no administrator's limits: those are quotas.
#pragma once

#include <cstddef>

namespace genv::core::caps {

inline constexpr std::size_t environmentsPerUser = 64;
inline constexpr std::size_t processesPerUser = 256; ///< root processes and kernels
inline constexpr std::size_t waitsPerUser = 32;      ///< for devices, and as many for locks
inline constexpr std::size_t pendingChecksPerUser = 8;
inline constexpr std::size_t listCallsPerUser = 64; ///< calls that wait to be answered

inline constexpr std::size_t callsPerUser = 256;            ///< that came in and are not begun
inline constexpr std::size_t callsPerUserEachSecond = 1000; ///< begun, after callsPerUser at once

/// Of all connections together whose user the bus is being asked about.
inline constexpr std::size_t callsOfStrangers = 2048;
inline constexpr std::size_t bytesOfStrangers = std::size_t{16} << 20;

/// What one call may carry, also root's: more than any method wants.
inline constexpr std::size_t valuesPerCall = 4096;
inline constexpr std::size_t bytesPerCall = std::size_t{8} << 20; ///< and all of a user's waiting

inline constexpr std::size_t repeatedEnforcementsPerUser = 4;
inline constexpr std::size_t limitsPerEnforcement = 1000; ///< users named one by one, also root's

} // namespace genv::core::caps
