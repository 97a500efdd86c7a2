// SPDX-License-Identifier: LGPL-2.1-or-later
// A process held by its pidfd, and what the kernel says of it without any lock that a process can
// keep its readers waiting for: whether it lives, its uids and its parent.
#pragma once

#include "core/descriptor.hpp"
#include "core/ports/processes.hpp"

#include <optional>

namespace genv::service {

/// What PIDFD_GET_INFO says (Linux 6.13).
struct PidfdInfo {
    core::ProcessUids uids;
    core::Pid parent = 0;
};

class Pidfd {
  public:
    /// Holds a living process. Throws core::Error(NoSuchProcess) when there is none,
    /// (LimitsExceeded) when the service has no descriptor or memory left.
    static Pidfd open(core::Pid pid);
    /// A descriptor that refers to the process with this pid.
    Pidfd(core::Descriptor descriptor, core::Pid pid)
        : descriptor_(std::move(descriptor)), pid_(pid) {}

    [[nodiscard]] int get() const { return descriptor_.get(); }
    [[nodiscard]] core::Pid pid() const { return pid_; }
    [[nodiscard]] bool hasExited() const;
    [[nodiscard]] bool hasUids(const core::ProcessUids& uids) const;
    /// Returns false when it has exited.
    bool signal(core::TerminationSignal signal) const; // NOLINT(modernize-use-nodiscard)

    /// Nothing on a kernel that does not say, or when the process is gone.
    [[nodiscard]] std::optional<PidfdInfo> info() const;
    /// The same where the kernel does not say: its effective uid for all four, and no parent.
    /// Nothing when the process is gone.
    [[nodiscard]] std::optional<PidfdInfo> infoOrOwner() const;

  private:
    core::Descriptor descriptor_;
    core::Pid pid_;
};

/// The effective uid of whatever process has a pid: the owner of its folder in /proc. Nothing when
/// there is none.
std::optional<core::Uid> ownerOf(core::Pid pid);

/// Throws core::Error(LimitsExceeded): there is no room for another descriptor.
[[noreturn]] void failForShortage(core::Pid pid, int error);

} // namespace genv::service
