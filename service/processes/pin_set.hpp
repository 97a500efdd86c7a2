// SPDX-License-Identifier: LGPL-2.1-or-later
// Pinned processes. Their pidfds sit in one epoll set, of which a loop watches the one descriptor:
// ten thousand environments cost a turn of the loop what none do.
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

    /// Pins a held process, known to be this one. Throws core::Error(LimitsExceeded).
    std::shared_ptr<const core::ProcessPin> add(Pidfd process, core::ProcessIdentity identity);

    /// Which living process with this pid is pinned; nothing for none.
    [[nodiscard]] std::optional<core::ProcessIdentity> living(core::Pid pid) const;

    /// Readable when there are exits to tell.
    [[nodiscard]] int descriptor() const;
    /// Tells of exits, each pin's once.
    void dispatch(const std::function<void(const core::ProcessIdentity&)>& exited);

  private:
    class Pin;
    struct Watch;
    std::shared_ptr<Watch> watch_;
};

} // namespace genv::service
