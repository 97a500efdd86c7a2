// SPDX-License-Identifier: LGPL-2.1-or-later
// The interface between a test and the library that is preloaded into genvd (preload.cpp): a page
// of memory in which the test selects the system call that fails, and how it fails. The service
// itself knows nothing of it.
#pragma once

#include <cstdint>

namespace genv::tests {

/// The classes of calls of the main thread to count, as bits.
enum CallClass : std::uint32_t {
    storeCalls = 1,   ///< calls that change the runtime directory: open, write, close, rename, ...
    sendCalls = 2,    ///< sendmsg(2): replies and signals
    openCalls = 4,    ///< calls that create a descriptor, and epoll_ctl(2)
    memoryCalls = 8,  ///< malloc(3), calloc(3), realloc(3)
    spawnCalls = 16,  ///< posix_spawn(3), in any thread
    readCalls = 32,   ///< read(2) of files in the runtime directory
    shortWrites = 64, ///< write(2) to those files; it writes half, whatever the action
    busRegistrations = 128, ///< sd_bus_add_filter(3) and registrations of objects with the bus
};

enum class FaultAction : std::uint32_t {
    None,
    Kill,     ///< SIGKILL in place of the call
    Fail,     ///< the call is not made, and fails
    HalfWrite ///< half of a write is done, then SIGKILL; other calls as Kill
};

/// The shared page. Its members are atomic or are written while it is not armed.
struct Injection {
    std::uint32_t armed;   ///< 1: calls are counted
    std::uint32_t classes; ///< bits of CallClass
    FaultAction action;
    std::int32_t error;      ///< errno of a call that fails
    std::uint32_t first;     ///< the number of the first call that fails, from 1
    std::uint32_t count;     ///< how many calls fail; 0: all from then on
    std::uint32_t seen;      ///< calls counted since arming
    std::uint32_t fired;     ///< calls that failed
    std::int64_t wallOffset; ///< microseconds by which CLOCK_REALTIME is ahead
    std::int64_t bootOffset; ///< the same for CLOCK_BOOTTIME, as on a suspended machine
};

inline constexpr const char* injectionVariable = "GENV_TEST_INJECTION";

/// The variable with the path of a named pipe, at which the user database hangs.
inline constexpr const char* userDatabaseVariable = "GENV_TEST_USER_DATABASE";

} // namespace genv::tests
