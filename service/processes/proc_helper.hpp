// SPDX-License-Identifier: LGPL-2.1-or-later
// The service's end of one reader of /proc (proc_server.hpp): packets out, packets back, within a
// time. It is a child, and killed where it hangs.
#pragma once

#include "core/descriptor.hpp"
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

/// The program that serves reads of /proc for the process that starts it. genvd is, and starts
/// itself by /proc/self/exe: then both ends are of one version, whatever was installed meanwhile.
struct ProcProgram {
    std::filesystem::path path = "/proc/self/exe";
};

/// A reader gave no answer and is of no use any more. The text says why, such as "ended by signal 6
/// (Aborted)".
class ProcHelperError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

class ProcHelper {
  public:
    using Clock = std::chrono::steady_clock;

    /// Starts the program and waits until it is ready. Throws ProcHelperError. The kernel ends the
    /// child with the thread that started it.
    explicit ProcHelper(const ProcProgram& program);

    /// Asks for at most mostProcRequests, once all that was asked before is answered. Throws
    /// ProcHelperError.
    void ask(const std::vector<ProcRequest>& requests);

    /// The next answer; nothing when there is none by then. Throws ProcHelperError.
    std::optional<ProcAnswer> next(Clock::time_point deadline);

    /// As ChildProcess::sleep().
    [[nodiscard]] std::optional<std::uint64_t> sleep() const { return process_.sleep(); }

    /// Kills it. Gives the child back when it is not dead in a moment.
    std::optional<ChildProcess> end() &&;

  private:
    /// The next packet, valid until the one after it.
    std::optional<std::string_view> receive(Clock::time_point deadline);

    core::Descriptor socket_; // of the two ends, ours
    std::string buffer_;
    ChildProcess process_;
};

} // namespace genv::service
