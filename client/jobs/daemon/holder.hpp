// SPDX-License-Identifier: LGPL-2.1-or-later
// The first root process of an environment, from the request until genv-job has joined it. A
// process can be registered with one environment only, so each request has a process of its own,
// which does nothing. When it ends, so does a wait, or an environment that nobody joined: nothing
// else is needed to give GPUs back, and it ends with genv-jobs.
#pragma once

#include "client/descriptor.hpp"

#include <sys/types.h>

namespace genv::jobs {

class Holder {
  public:
    /// Starts the process. Throws std::system_error.
    Holder();
    Holder(const Holder&) = delete;
    Holder& operator=(const Holder&) = delete;
    /// Ends it.
    ~Holder();

    /// A pidfd of the process.
    [[nodiscard]] int descriptor() const { return process_.get(); }

  private:
    pid_t pid_;
    client::Descriptor process_;
};

} // namespace genv::jobs
