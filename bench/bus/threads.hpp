// SPDX-License-Identifier: LGPL-2.1-or-later
// What the threads of a process have done, as the kernel counts it.
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

/// By thread id; the first thread's is the process's.
using ThreadUses = std::map<pid_t, ThreadUse>;
ThreadUses threadsOf(pid_t process);

/// What was done between two looks, of the threads that there were at both.
ThreadUses between(const ThreadUses& before, const ThreadUses& after);

/// The processor time of all threads of a process.
std::chrono::nanoseconds processorTimeOf(pid_t process);

} // namespace genv::bench
