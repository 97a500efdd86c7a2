// SPDX-License-Identifier: LGPL-2.1-or-later
// A child of the service, held by its pidfd. It is never waited for without a bound: a child that
// hangs in the kernel does not die of SIGKILL, and whoever waited for it would hang with it.
#pragma once

#include "core/descriptor.hpp"

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace genv::service {

/// A running or ended child. Dropping it kills it and waits a moment; what hangs in the kernel then
/// is left to init.
class ChildProcess {
  public:
    /// What a program gets of the environment of this process.
    enum class Environment {
        Inherited, ///< all but what systemd tells services about themselves
        Empty,
    };

    /// Starts a program in a session of its own, with `stream` as its standard input and output,
    /// the standard error of this process and no other descriptor. Throws std::system_error.
    ChildProcess(const std::filesystem::path& program, const std::vector<std::string>& arguments,
                 int stream, Environment environment = Environment::Inherited);
    ChildProcess(ChildProcess&&) = default;
    ChildProcess& operator=(ChildProcess&&) = delete;
    ~ChildProcess();

    void kill() const noexcept;

    /// Which sleep in the kernel it is in, by a number that the next one does not have; nothing for
    /// one that runs or only waits for a processor.
    [[nodiscard]] std::optional<std::uint64_t> sleep() const;

    /// Waits for the end for so long, and reaps. Says how it ended, such as "exited with status 1",
    /// or nothing when it has not.
    const std::optional<std::string>& reap(std::chrono::milliseconds patience);

  private:
    pid_t pid_;
    core::Descriptor pidfd_;
    core::Descriptor
        status_; // of /proc, open, so that it can be read when there is no descriptor left
    std::optional<std::string> end_;
};

} // namespace genv::service
