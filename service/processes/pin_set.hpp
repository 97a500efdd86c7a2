// SPDX-License-Identifier: LGPL-2.1-or-later
// Pinned processes. Their pidfds are in one epoll set, and the loop watches only the descriptor of
// this set. An iteration of the loop therefore costs the same with ten thousand environments as
// with none.
#pragma once

#include "core/ports/processes.hpp"
#include "service/posix/pidfd.hpp"

#include <functional>
#include <memory>
#include <optional>

namespace genv::service {

/// Used by one thread. Pins may outlive the set.
class PinSet {
  public:
    PinSet();
    ~PinSet();
    PinSet(const PinSet&) = delete;
    PinSet& operator=(const PinSet&) = delete;

    /// Pins a held process whose identity is known. Throws core::Error(LimitsExceeded).
    std::shared_ptr<const core::ProcessPin> add(Pidfd process, core::ProcessIdentity identity);

    /// Returns the identity of the living pinned process with this PID, or nothing if there is
    /// none.
    [[nodiscard]] std::optional<core::ProcessIdentity> living(core::Pid pid) const;

    /// Returns a descriptor that is readable when exits are pending.
    [[nodiscard]] int descriptor() const;
    /// Reports pending exits, once for each pin.
    void dispatch(const std::function<void(const core::ProcessIdentity&)>& exited);

  private:
    class Pin;
    struct Watch;
    std::shared_ptr<Watch> watch_;
};

} // namespace genv::service
