// SPDX-License-Identifier: LGPL-2.1-or-later
// Port: the processes of this machine. A user can block reads of their own process for any time, so
// no call here reads another user's process while the loop waits. Holding and signalling a process,
// and comparing its uids, never block. Everything else is read on a worker thread, and the reply
// comes later.
#pragma once

#include "core/base/error.hpp"
#include "core/base/process.hpp"
#include "core/model/slurm_cgroup.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

namespace genv::core {

/// The two ways to end a process.
enum class TerminationSignal {
    Terminate, ///< SIGTERM
    Kill,      ///< SIGKILL
};

/// Holds a process, so that its PID cannot refer to another one. No member blocks.
class ProcessHandle {
  public:
    ProcessHandle() = default;
    ProcessHandle(const ProcessHandle&) = delete;
    ProcessHandle& operator=(const ProcessHandle&) = delete;
    virtual ~ProcessHandle() = default;

    /// Returns whether the process has exited, reaped or not.
    [[nodiscard]] virtual bool hasExited() const = 0;
    /// Returns whether its uids are still these, as far as the kernel can report without blocking:
    /// all four, or only the effective one on an older kernel.
    [[nodiscard]] virtual bool hasUids(const ProcessUids& uids) const = 0;
    /// Signals exactly this process. Returns false if it has exited.
    virtual bool signal(TerminationSignal signal) const = 0;
};

/// A process whose exit is reported while the pin exists.
class ProcessPin : public ProcessHandle {
  public:
    /// Returns the identity of the pinned process.
    [[nodiscard]] virtual const ProcessIdentity& identity() const = 0;
};

/// A process with its properties right after it was pinned.
struct PinnedProcess {
    std::shared_ptr<const ProcessPin> pin;
    ProcessFacts facts;
};

/// The result of reading a process on a worker thread: the value, or an error.
template <typename Value>
class ProcessRead {
  public:
    // Implicit, so that a reply can be given as either.
    ProcessRead(Value value) : outcome_(std::move(value)) {}
    ProcessRead(Error error) : outcome_(std::move(error)) {}

    /// Returns the value, or throws the error.
    [[nodiscard]] const Value& get() const {
        if (const Error* error = std::get_if<Error>(&outcome_))
            throw Error(*error);
        return std::get<Value>(outcome_);
    }

  private:
    std::variant<Value, Error> outcome_;
};

/// Access to the processes of this machine. Only the loop's thread calls it.
class Processes {
  public:
    using PinAnswer = std::function<void(const ProcessRead<PinnedProcess>&)>;
    using LineageAnswer = std::function<void(const ProcessRead<Lineage>&)>;
    using LoginAnswer = std::function<void(const ProcessRead<std::optional<Uid>>&)>;
    using NumbersAnswer = std::function<void(const ProcessRead<bool>&)>;
    using CgroupAnswer = std::function<void(const ProcessRead<std::optional<SlurmCgroup>>&)>;

    virtual ~Processes() = default;

    /// Holds a living process without reading it. Throws Error(NoSuchProcess) if there is none, and
    /// Error(LimitsExceeded) if the service has no descriptor or memory left to check.
    virtual std::shared_ptr<const ProcessHandle> hold(Pid pid) = 0;

    /// Holds a process immediately, with the errors of hold(), and calls back once it was read. The
    /// reply may be Error(NoSuchProcess), Error(Timeout) for a process that cannot be read, or
    /// Error(LimitsExceeded). A read waits for at most one read of each other `requester`. The exit
    /// is reported through onExit() once the pin exists, never before the reply.
    virtual void pin(Pid pid, Uid requester, PinAnswer answer) = 0;

    /// Returns the PID of the process of a descriptor from pidfd_open(2), in the PID namespace of
    /// the service. Throws Error(InvalidArgs) for any other descriptor, including one of a thread
    /// or of a process outside this namespace, and Error(NoSuchProcess) if it has exited.
    [[nodiscard]] virtual Pid pidOf(int pidfd) const = 0;

    /// Pins the process of a descriptor; the caller keeps the descriptor. Throws the errors of
    /// pidOf().
    virtual void pinDescriptor(int pidfd, Uid requester, PinAnswer answer) = 0;

    /// Returns whether a process uses the PIDs of the service: whether it is in the same PID
    /// namespace. A process never changes its own. The errors are those of pin().
    virtual void usesSamePids(Pid pid, Uid requester, NumbersAnswer answer) = 0;

    /// Pins previously known processes, in the same order; null for each that is gone. A process
    /// that cannot be read immediately is assumed to be the expected one and verified later: if it
    /// is another one, onExit() reports that. Used at start, before the loop runs. Throws
    /// Error(LimitsExceeded) if the service has no descriptor or memory left to check.
    virtual std::vector<std::shared_ptr<const ProcessPin>>
    findAgain(const std::vector<ProcessIdentity>& processes) = 0;

    /// Returns the living process with this PID that is already pinned, if any.
    [[nodiscard]] virtual std::optional<ProcessIdentity> pinned(Pid pid) const = 0;

    /// Returns a process and its ancestors at present. Only pinned ones are guaranteed to have a
    /// start time. May call back before this returns; the errors are those of pin().
    virtual void lineage(Pid pid, Uid requester, LineageAnswer answer) = 0;

    /// Returns the Slurm job whose cgroup a process is in. The errors are those of pin().
    virtual void slurmCgroup(Pid pid, Uid requester, CgroupAnswer answer) = 0;

    /// Returns the user who logged in to the session of a process; unset if there is none. The
    /// errors are those of pin().
    virtual void loginUser(Pid pid, Uid requester, LoginAnswer answer) = 0;

    /// Sets the listener for the exit of pinned processes. It is called from the loop.
    virtual void onExit(std::function<void(const ProcessIdentity&)> listener) = 0;
    /// Calls the listener for the exits until now. Somebody who knows of an exit may have called
    /// since the loop last looked.
    virtual void noticeExits() = 0;
};

} // namespace genv::core
