// SPDX-License-Identifier: LGPL-2.1-or-later
// The process of a request, held by its pidfd, and the checks that it is the one that genvd means.
// Its owner is asked without reading a file that the process could make slow.
#pragma once

#include "core/ports/parker.hpp"
#include "service/posix/pidfd.hpp"

#include <optional>
#include <variant>

namespace genv::service {

/// The user and the group of a process whose four uids are equal, and its four gids.
struct ParkOwner {
    core::Uid uid = 0;
    core::Gid gid = 0;

    friend bool operator==(const ParkOwner&, const ParkOwner&) = default;
};

class ParkTarget {
  public:
    /// Returns nothing if there is no such process now. Throws core::Error(LimitsExceeded) if this
    /// process has no descriptor or memory left.
    static std::optional<ParkTarget> open(const core::ParkingTarget& target);

    [[nodiscard]] core::Pid pid() const { return target_.process.pid; }
    [[nodiscard]] bool hasExited() const { return process_.hasExited(); }
    /// Returns Owner if the ids differ from each other, or the uid from the requested one: a
    /// process that could switch to another user or group belongs to nobody alone. Returns Gone if
    /// the process has ended, and Helper if its ids cannot be read.
    [[nodiscard]] std::variant<ParkOwner, core::ParkingFault> owner() const;

    /// Returns why no call may be made for the process. Reads its files in /proc, which may block
    /// as long as its user likes. Called with the rights of this owner and no others.
    [[nodiscard]] std::optional<core::ParkingFault> objection(const ParkOwner& owner) const;

  private:
    ParkTarget(Pidfd process, const core::ParkingTarget& target)
        : process_(std::move(process)), target_(target) {}

    Pidfd process_;
    core::ParkingTarget target_;
};

} // namespace genv::service
