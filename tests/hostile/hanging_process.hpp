// SPDX-License-Identifier: LGPL-2.1-or-later
// A process of a user that makes whoever reads it in /proc wait for ever, as any user can with a
// file system of their own (FUSE, in a user namespace).
#pragma once

#include "core/process.hpp"

#include <sys/types.h>

#include <memory>
#include <stdexcept>
#include <string>

namespace genv::tests {

/// The kernel or this machine does not let a process hang its readers so; the text says why.
class NoHanging : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

class HangingProcess {
  public:
    enum class Way {
        /// A page of a mapping never comes. A thread that waits for it holds mmap_lock, another one
        /// waits for that to write, and so does whoever reads `environ` and `cmdline`.
        Mapping,
        /// exec closes a descriptor, and that never ends. Until then it holds exec_update_lock, for
        /// which the readers of `environ` and, on newer kernels, of `stat` wait.
        Exec,
    };

    /// Starts it, and it does not hang yet. With the name of a compute process if it is to be one.
    /// Throws NoHanging where FUSE is not to be had.
    HangingProcess(core::Uid uid, bool compute, Way way, int failedReads = 2);
    HangingProcess(const HangingProcess&) = delete;
    HangingProcess& operator=(const HangingProcess&) = delete;
    ~HangingProcess();

    [[nodiscard]] core::Pid pid() const { return static_cast<core::Pid>(victim_); }
    /// Lets it hang, and returns once whoever reads this file of it hangs. False when nobody does.
    bool hang(const std::string& file) const;
    [[nodiscard]] bool hasEnded() const;

    /// Whether somebody who reads a file of a process is kept waiting; looks for so many
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
