// SPDX-License-Identifier: LGPL-2.1-or-later
// Watches many processes for their end. One question is answered for all of them, in a time that
// depends only on how many have ended.
#pragma once

#include "core/base/descriptor.hpp"
#include "core/base/process.hpp"

#include <vector>

namespace genv::service {

class Pidfd;

/// Used by one thread.
class ExitWatch {
  public:
    /// Throws std::system_error.
    ExitWatch();

    /// Watches a process until its pidfd is closed. Returns false if the kernel has no room.
    [[nodiscard]] bool add(const Pidfd& process);

    /// Returns the PIDs of watched processes that have ended, each once. A pidfd that has been
    /// closed may still be reported if a child process had a copy, so ask it.
    [[nodiscard]] std::vector<core::Pid> take();

  private:
    core::Descriptor epoll_;
};

} // namespace genv::service
