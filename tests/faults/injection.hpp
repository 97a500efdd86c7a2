// SPDX-License-Identifier: LGPL-2.1-or-later
// What a test and the library that is loaded into genvd before all others (preload.cpp) share: a
// page of memory in which the test says which system call is to go wrong, and how. The service
// itself knows nothing of it.
#pragma once

#include <cstdint>

namespace genv::tests {

/// Which calls of the main thread are counted. Bits.
enum CallClass : std::uint32_t {
    storeCalls = 1,   ///< those that change the runtime directory: open, write, close, rename, ...
    sendCalls = 2,    ///< sendmsg(2): replies and signals
    openCalls = 4,    ///< whatever makes a descriptor, and epoll_ctl(2)
    memoryCalls = 8,  ///< malloc(3), calloc(3), realloc(3)
    spawnCalls = 16,  ///< posix_spawn(3), in any thread
    readCalls = 32,   ///< read(2) of files in the runtime directory
    shortWrites = 64, ///< write(2) to those, which takes half, whatever the action
    busRegistrations = 128, ///< sd_bus_add_filter(3) and those that register objects with the bus
};

enum class FaultAction : std::uint32_t {
    None,
    Kill,     ///< SIGKILL in place of the call
    Fail,     ///< the call is not made, and fails
    HalfWrite ///< half of a write is made, then SIGKILL; other calls as Kill
};

/// The page. Everything is atomic or written while nothing is armed.
struct Injection {
    std::uint32_t armed;   ///< 1: calls are counted
    std::uint32_t classes; ///< of CallClass
    FaultAction action;
    std::int32_t error;      ///< errno of a call that fails
    std::uint32_t first;     ///< the number of the first call that goes wrong, from 1
    std::uint32_t count;     ///< how many do; 0: all from then on
    std::uint32_t seen;      ///< calls counted since it was armed
    std::uint32_t fired;     ///< calls that went wrong
    std::int64_t wallOffset; ///< microseconds that CLOCK_REALTIME is ahead
    std::int64_t bootOffset; ///< the same of CLOCK_BOOTTIME: what a suspended machine sees
};

inline constexpr const char* injectionVariable = "GENV_TEST_INJECTION";

/// Where the test makes a named pipe for the user database to hang at.
inline constexpr const char* userDatabaseVariable = "GENV_TEST_USER_DATABASE";

} // namespace genv::tests
