// SPDX-License-Identifier: LGPL-2.1-or-later
// The service's end of one genv-nvml process: sends one line and receives one line within a
// timeout. The process is either a child or started by systemd for a connection to its socket. The
// service cannot kill the latter: such a process has its own timeout and ends with the connection.
#pragma once

#include "core/base/descriptor.hpp"
#include "service/posix/child_process.hpp"

#include <chrono>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace genv::service {

/// A helper process did not answer and cannot be used any more. The text describes the process,
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

    /// Sends a line and returns the next one, both without line feed. Throws HelperError if the
    /// timeout expires or if the helper does not send exactly one line.
    std::string ask(std::string_view line, std::chrono::milliseconds time);

    /// Returns whether the process has ended, without sending a request.
    [[nodiscard]] bool hasEnded();

    /// Ends the process or the connection. Returns the child if it cannot be ended because it hangs
    /// in the kernel.
    std::optional<ChildProcess> end() &&;

  private:
    void send(std::string_view line);
    std::string receiveLine(std::chrono::steady_clock::time_point deadline);
    std::string describeEnd();

    core::Descriptor socket_; // the service's end of the pair
    std::optional<ChildProcess> process_;
};

} // namespace genv::service
