// SPDX-License-Identifier: LGPL-2.1-or-later
// A process held by its pidfd, and the facts that the kernel reports about it without any lock that
// a process could hold for long: whether it lives, its uids and its parent.
#pragma once

#include "core/base/descriptor.hpp"
#include "core/ports/processes.hpp"

#include <optional>

namespace genv::service {

/// The four gids of a process, as in "Gid:" of proc_pid_status(5).
struct ProcessGids {
    core::Gid real = 0;
    core::Gid effective = 0;
    core::Gid saved = 0;
    core::Gid filesystem = 0;

    /// Returns whether all four are this gid.
    [[nodiscard]] bool areAll(core::Gid gid) const {
        return real == gid && effective == gid && saved == gid && filesystem == gid;
    }
};

/// The result of PIDFD_GET_INFO (Linux 6.13).
struct PidfdInfo {
    core::ProcessUids uids;
    core::Pid parent = 0;
    ProcessGids gids{};
};

class Pidfd {
  public:
    /// Opens a living process. Throws core::Error(NoSuchProcess) if there is none, or
    /// core::Error(LimitsExceeded) if the service has no descriptor or memory left.
    static Pidfd open(core::Pid pid);
    /// Takes a descriptor that refers to the process with this PID.
    Pidfd(core::Descriptor descriptor, core::Pid pid)
        : descriptor_(std::move(descriptor)), pid_(pid) {}

    [[nodiscard]] int get() const { return descriptor_.get(); }
    [[nodiscard]] core::Pid pid() const { return pid_; }
    [[nodiscard]] bool hasExited() const;
    [[nodiscard]] bool hasUids(const core::ProcessUids& uids) const;
    /// Sends a signal. Returns false if the process has exited.
    bool signal(core::TerminationSignal signal) const; // NOLINT(modernize-use-nodiscard)

    /// Returns nothing if the kernel does not support this or the process has exited.
    [[nodiscard]] std::optional<PidfdInfo> info() const;
    /// Like info(). If the kernel does not support it, uses the effective uid for all four
    /// uids, and no parent and no gids. Returns nothing if the process has exited.
    [[nodiscard]] std::optional<PidfdInfo> infoOrOwner() const;

  private:
    core::Descriptor descriptor_;
    core::Pid pid_;
};

/// Returns the effective uid of the process that currently has this PID, which is the owner of its
/// folder in /proc. Returns nothing if there is no such process.
std::optional<core::Uid> ownerOf(core::Pid pid);

/// Throws core::Error(LimitsExceeded), because no descriptor is available.
[[noreturn]] void failForShortage(core::Pid pid, int error);

} // namespace genv::service
