// SPDX-License-Identifier: LGPL-2.1-or-later
// The service's end of one reader of /proc (proc_server.hpp): sends and receives packets within a
// timeout. The reader is a child process, which is killed if it hangs.
#pragma once

#include "core/base/descriptor.hpp"
#include "service/posix/child_process.hpp"
#include "service/processes/proc_protocol.hpp"

#include <chrono>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace genv::service {

/// The program that reads /proc for the process that starts it. This is genvd, which starts itself
/// through /proc/self/exe. Both ends thus have the same version, even if another one was installed
/// meanwhile.
struct ProcProgram {
    std::filesystem::path path = "/proc/self/exe";
};

/// A reader did not answer and cannot be used any more. The text is the reason, such as "ended by
/// signal 6 (Aborted)".
class ProcHelperError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

class ProcHelper {
  public:
    using Clock = std::chrono::steady_clock;

    /// Starts the program and waits until it is ready. Throws ProcHelperError. The kernel ends the
    /// child together with the thread that started it.
    explicit ProcHelper(const ProcProgram& program);

    /// Sends at most maxProcRequests requests. All previous requests must have been answered.
    /// Throws ProcHelperError.
    void ask(const std::vector<ProcRequest>& requests);

    /// Returns the next answer, or nothing if there is none before the deadline. Throws
    /// ProcHelperError.
    std::optional<ProcAnswer> next(Clock::time_point deadline);

    /// Returns the result of ChildProcess::sleep().
    [[nodiscard]] std::optional<std::uint64_t> sleep() const { return process_.sleep(); }

    /// Kills the child. Returns it if it does not die at once.
    std::optional<ChildProcess> end() &&;

  private:
    /// Returns the next packet, which is valid until the next call.
    std::optional<std::string_view> receive(Clock::time_point deadline);

    core::Descriptor socket_; // the service's end of the pair
    std::string buffer_;
    ChildProcess process_;
};

} // namespace genv::service
