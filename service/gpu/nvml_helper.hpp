// SPDX-License-Identifier: LGPL-2.1-or-later
// The service's end of one genv-nvml process: a line out, a line back, within a time. The process
// is a child, or systemd starts it for a connection to its socket and no one here can end it: then
// it bounds itself, and ends with the connection.
#pragma once

#include "core/descriptor.hpp"
#include "service/posix/child_process.hpp"

#include <chrono>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace genv::service {

/// A helper process gave no answer; it is of no use any more. The text is what is to be said of it,
/// such as "ended by signal 6 (Aborted)".
class HelperError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// A helper process and the socket to it.
class NvmlHelper {
  public:
    /// Starts the program as a child. Throws HelperError.
    NvmlHelper(const std::filesystem::path& program, const std::vector<std::string>& arguments);

    /// Connects to the socket for which systemd starts a helper. Throws HelperError.
    explicit NvmlHelper(const std::filesystem::path& socket);

    /// Sends a line and returns the next one, both without line feed. Throws HelperError when there
    /// is none within the time, or not exactly one.
    std::string ask(std::string_view line, std::chrono::milliseconds time);

    /// Whether the process is over, without being asked anything.
    [[nodiscard]] bool hasEnded();

    /// Ends the process or the connection. Gives a child back when it cannot be ended, because it
    /// hangs in the kernel.
    std::optional<ChildProcess> end() &&;

  private:
    void send(std::string_view line);
    std::string receiveLine(std::chrono::steady_clock::time_point deadline);
    std::string sayEnd();

    core::Descriptor socket_; // of the two ends, ours
    std::optional<ChildProcess> process_;
};

} // namespace genv::service
