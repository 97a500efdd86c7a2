// SPDX-License-Identifier: LGPL-2.1-or-later
// Port: the processes of this machine. The adapter pins by pidfd and reads /proc; the calls here
// read a file or two and do not block. Whole scans are the Observer's, off the loop.
#pragma once

#include "core/process.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace genv::core {

/// The two ways of ending a process.
enum class TerminationSignal {
    Terminate, ///< SIGTERM
    Kill,      ///< SIGKILL
};

/// Holds a process so that its pid cannot come to mean another one; its exit is told while the pin
/// lives.
class ProcessPin {
  public:
    ProcessPin() = default;
    ProcessPin(const ProcessPin&) = delete;
    ProcessPin& operator=(const ProcessPin&) = delete;
    virtual ~ProcessPin() = default;

    /// Which process is pinned.
    [[nodiscard]] virtual const ProcessIdentity& identity() const = 0;
    /// What it is now; nothing once it has exited.
    [[nodiscard]] virtual std::optional<ProcessFacts> now() const = 0;
    /// Whether it has exited, reaped or not.
    [[nodiscard]] virtual bool hasExited() const = 0;
    /// Signals this very process. Returns false when it has exited.
    virtual bool signal(TerminationSignal signal) const = 0;
};

/// The processes of this machine. Called on the loop's thread only.
class Processes {
  public:
    virtual ~Processes() = default;

    /// Pins a living process. Throws Error(NoSuchProcess) when there is none,
    /// Error(LimitsExceeded) when the service has no descriptor or memory left to find out.
    /// Its exit is told through onExit() once the pin exists, never before this returns.
    virtual std::shared_ptr<const ProcessPin> pin(Pid pid) = 0;

    /// The same for the process that a descriptor from pidfd_open(2) refers to; the descriptor
    /// stays the caller's. Throws Error(InvalidArgs) for another kind of descriptor, a thread's
    /// among them.
    virtual std::shared_ptr<const ProcessPin> pinDescriptor(int pidfd) = 0;

    /// The ancestors of a process, parent first, without pid 1; cut where a chain is absurdly long.
    virtual std::vector<ProcessIdentity> ancestors(const ProcessFacts& process) = 0;

    /// A process as it is now; nothing when it is gone. Races with its exit: never act on it
    /// without a pin.
    virtual std::optional<ProcessFacts> look(Pid pid) = 0;

    /// Who hears of the exit of pinned processes. Called from the loop.
    virtual void onExit(std::function<void(const ProcessIdentity&)> listener) = 0;
};

} // namespace genv::core
