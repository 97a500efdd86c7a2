// SPDX-License-Identifier: LGPL-2.1-or-later
// Keeps the benchmark, the bus and the service on one processor while calls are made one at a time,
// when nothing runs in parallel anyway. Otherwise the duration of a call varies by a factor of
// three, depending on which of them the kernel places on the same processor, and two series may
// differ by chance.
#pragma once

#include <sched.h>
#include <sys/types.h>

#include <vector>

namespace genv::bench {

class OneProcessor {
  public:
    /// Pins these processes and the calling process, with all of their threads.
    explicit OneProcessor(std::vector<pid_t> processes);
    OneProcessor(const OneProcessor&) = delete;
    OneProcessor& operator=(const OneProcessor&) = delete;
    ~OneProcessor();

  private:
    std::vector<pid_t> processes_;
    cpu_set_t before_{};
};

/// Returns the PIDs of the bus and of polkitd.
std::vector<pid_t> daemons();

} // namespace genv::bench
