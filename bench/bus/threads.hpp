// SPDX-License-Identifier: LGPL-2.1-or-later
// The activity of a process's threads, as counted by the kernel.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <string>

namespace genv::bench {

struct ThreadUse {
    std::string name;
    std::uint64_t wakeUps = 0;
    std::chrono::nanoseconds processor{0};
};

/// By thread id. The first thread has the id of the process.
using ThreadUses = std::map<pid_t, ThreadUse>;
ThreadUses threadsOf(pid_t process);

/// Returns the difference between two readings, for threads that are in both.
ThreadUses between(const ThreadUses& before, const ThreadUses& after);

/// Returns the processor time of all threads of a process.
std::chrono::nanoseconds processorTimeOf(pid_t process);

} // namespace genv::bench
