// SPDX-License-Identifier: LGPL-2.1-or-later
// Port: the processes of this machine. Reading another user's process may block for as long as that
// user likes, so no call here reads one while the loop waits: holding and signalling a process, and
// comparing its uids, never wait; everything else is read off the loop and answered later.
#pragma once

#include "core/error.hpp"
#include "core/process.hpp"
#include "core/slurm_cgroup.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

namespace genv::core {

/// The two ways of ending a process.
enum class TerminationSignal {
    Terminate, ///< SIGTERM
    Kill,      ///< SIGKILL
};

/// Holds a process so that its pid cannot come to mean another one. No member waits.
class ProcessHandle {
  public:
    ProcessHandle() = default;
    ProcessHandle(const ProcessHandle&) = delete;
    ProcessHandle& operator=(const ProcessHandle&) = delete;
    virtual ~ProcessHandle() = default;

    /// Whether it has exited, reaped or not.
    [[nodiscard]] virtual bool hasExited() const = 0;
    /// Whether these still are its uids, as far as the kernel tells without waiting: all four, or
    /// the effective one on an older kernel.
    [[nodiscard]] virtual bool hasUids(const ProcessUids& uids) const = 0;
    /// Signals this very process. Returns false when it has exited.
    virtual bool signal(TerminationSignal signal) const = 0;
};

/// A process whose exit is told while the pin lives.
class ProcessPin : public ProcessHandle {
  public:
    /// Which process is pinned.
    [[nodiscard]] virtual const ProcessIdentity& identity() const = 0;
};

/// A process and what it was right after it was pinned.
struct PinnedProcess {
    std::shared_ptr<const ProcessPin> pin;
    ProcessFacts facts;
};

/// What came of reading a process off the loop: the value, or why there is none.
template <typename Value>
class ProcessRead {
  public:
    // Implicit, so that an answer is given either.
    ProcessRead(Value value) : outcome_(std::move(value)) {}
    ProcessRead(Error error) : outcome_(std::move(error)) {}

    /// Throws the error.
    [[nodiscard]] const Value& get() const {
        if (const Error* error = std::get_if<Error>(&outcome_))
            throw Error(*error);
        return std::get<Value>(outcome_);
    }

  private:
    std::variant<Value, Error> outcome_;
};

/// The processes of this machine. Called on the loop's thread only.
class Processes {
  public:
    using PinAnswer = std::function<void(const ProcessRead<PinnedProcess>&)>;
    using LineageAnswer = std::function<void(const ProcessRead<Lineage>&)>;
    using LoginAnswer = std::function<void(const ProcessRead<std::optional<Uid>>&)>;
    using CgroupAnswer = std::function<void(const ProcessRead<std::optional<SlurmCgroup>>&)>;

    virtual ~Processes() = default;

    /// Holds a living process, without reading it. Throws Error(NoSuchProcess) when there is none,
    /// Error(LimitsExceeded) when the service has no descriptor or memory left to find out.
    virtual std::shared_ptr<const ProcessHandle> hold(Pid pid) = 0;

    /// Holds a process at once, throwing as hold() does, and answers once it was read. The answer
    /// may be Error(NoSuchProcess), Error(Timeout) for a process that cannot be read, and
    /// Error(LimitsExceeded). Nobody waits for more than one read of another `asker`. Its exit is
    /// told through onExit() once the pin exists, never before the answer.
    virtual void pin(Pid pid, Uid asker, PinAnswer answer) = 0;

    /// The same for the process that a descriptor from pidfd_open(2) refers to; the descriptor
    /// stays the caller's. Throws Error(InvalidArgs) for another kind of descriptor, a thread's
    /// among them.
    virtual void pinDescriptor(int pidfd, Uid asker, PinAnswer answer) = 0;

    /// Pins processes that were known before, in their order; null for each that is gone. A process
    /// that cannot be read in a moment is pinned as the one that it should be, and verified later:
    /// onExit() tells of it if it is another one. For the start, before the loop turns. Throws
    /// Error(LimitsExceeded) when the service has no descriptor or memory left to find out.
    virtual std::vector<std::shared_ptr<const ProcessPin>>
    findAgain(const std::vector<ProcessIdentity>& processes) = 0;

    /// Which living process with this pid is pinned already; nothing for none.
    [[nodiscard]] virtual std::optional<ProcessIdentity> pinned(Pid pid) const = 0;

    /// A process and its ancestors as they are now, of which only pinned ones are sure to have a
    /// start time. May answer before this returns; the errors are those of pin().
    virtual void lineage(Pid pid, Uid asker, LineageAnswer answer) = 0;

    /// In which Slurm job's control group a process is; the errors are those of pin().
    virtual void slurmCgroup(Pid pid, Uid asker, CgroupAnswer answer) = 0;

    /// The user who logged in, in whose session a process is; unset where that is nobody. The
    /// errors are those of pin().
    virtual void loginUser(Pid pid, Uid asker, LoginAnswer answer) = 0;

    /// Who hears of the exit of pinned processes. Called from the loop.
    virtual void onExit(std::function<void(const ProcessIdentity&)> listener) = 0;
};

} // namespace genv::core
