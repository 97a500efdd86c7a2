// SPDX-License-Identifier: LGPL-2.1-or-later
// A process of a user that blocks its readers in /proc for ever, as any user can with a file system
// of their own (FUSE, in a user namespace).
#pragma once

#include "core/base/process.hpp"

#include <sys/types.h>

#include <memory>
#include <stdexcept>
#include <string>

namespace genv::tests {

/// The kernel or this machine does not permit a process to block its readers this way; the text has
/// the reason.
class NoHanging : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

class HangingProcess {
  public:
    enum class Way {
        /// A page of a mapping never arrives. A thread that waits for the page holds mmap_lock.
        /// Another thread waits to write-lock it, and so do the readers of `environ` and `cmdline`.
        Mapping,
        /// exec closes a descriptor, and the close never ends. Until then exec holds
        /// exec_update_lock, for which the readers of `environ` and, on newer kernels, of `stat`
        /// wait.
        Exec,
    };

    /// Starts the process, which does not hang yet. It has the name of a compute process if
    /// `compute`. Throws NoHanging if FUSE is not available.
    HangingProcess(core::Uid uid, bool compute, Way way, int failedReads = 2);
    HangingProcess(const HangingProcess&) = delete;
    HangingProcess& operator=(const HangingProcess&) = delete;
    ~HangingProcess();

    [[nodiscard]] core::Pid pid() const { return static_cast<core::Pid>(victim_); }
    /// Makes it hang, and returns once a reader of this file of the process hangs. Returns false if
    /// none does.
    bool hang(const std::string& file) const;
    [[nodiscard]] bool hasEnded() const;

    /// Returns whether a reader of a process's file is blocked. Waits at most this number of
    /// milliseconds.
    static bool hangsReaders(core::Pid pid, const std::string& file, int timeout);

  private:
    pid_t server_ = -1;
    pid_t victim_ = -1;
    int pidfd_ = -1;
    int trigger_ = -1;
    std::string folder_;
};

} // namespace genv::tests
