// SPDX-License-Identifier: LGPL-2.1-or-later
// Keeps the bench, the bus and the service on one processor while calls are made one at a time, so
// that nothing runs at once anyway. Else how long a call takes depends on which of them the kernel
// happens to let share one, by a factor of three, and two series may meet different luck.
#pragma once

#include <sched.h>
#include <sys/types.h>

#include <vector>

namespace genv::bench {

class OneProcessor {
  public:
    /// These processes and the own one are pinned, with all their threads.
    explicit OneProcessor(std::vector<pid_t> processes);
    OneProcessor(const OneProcessor&) = delete;
    OneProcessor& operator=(const OneProcessor&) = delete;
    ~OneProcessor();

  private:
    std::vector<pid_t> processes_;
    cpu_set_t before_{};
};

/// The bus and polkitd.
std::vector<pid_t> daemons();

} // namespace genv::bench
