// SPDX-License-Identifier: LGPL-2.1-or-later
// A child of the service, held by its pidfd. Waits are always bounded: a child that hangs in the
// kernel does not die of SIGKILL, and an unbounded wait would hang, too.
#pragma once

#include "core/base/descriptor.hpp"

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace genv::service {

/// A running or ended child. The destructor kills it and waits briefly. A child that still hangs in
/// the kernel after that is left to init.
class ChildProcess {
  public:
    /// The environment variables that a program receives.
    enum class Variables {
        Inherited, ///< all but the variables with which systemd addresses a service
        Empty,
    };

    /// Starts a program in its own session. It gets `stream` as standard input and output, the
    /// standard error of this process, and no other descriptor. Throws std::system_error.
    ChildProcess(const std::filesystem::path& program, const std::vector<std::string>& arguments,
                 int stream, Variables variables = Variables::Inherited);
    ChildProcess(ChildProcess&&) = default;
    ChildProcess& operator=(ChildProcess&&) = delete;
    ~ChildProcess();

    void kill() const noexcept;

    /// Returns a number that identifies the current sleep of the process in the kernel; each sleep
    /// has a different number. Returns nothing if the process runs or waits only for a processor.
    [[nodiscard]] std::optional<std::uint64_t> sleep() const;

    /// Waits up to `timeout` for the process to end, and reaps it. Returns how it ended, such as
    /// "exited with status 1", or nothing if it has not ended.
    const std::optional<std::string>& reap(std::chrono::milliseconds timeout);

  private:
    pid_t pid_;
    core::Descriptor pidfd_;
    core::Descriptor status_; // of /proc, kept open for when no descriptor is free
    std::optional<std::string> end_;
};

} // namespace genv::service
