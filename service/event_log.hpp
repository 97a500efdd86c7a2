// SPDX-License-Identifier: LGPL-2.1-or-later
// Writes one line to the log for every grant, detach, end and termination, so that an administrator
// can tell what happened.
#pragma once

#include "core/events.hpp"
#include "core/ports/log.hpp"

namespace genv::service {

class EventLog {
  public:
    explicit EventLog(core::Log& log) : log_(log) {}

    /// Hears an event of the ledger.
    void onEvent(const core::Event& event);

  private:
    void on(const core::EnvironmentAdded& event);
    void on(const core::EnvironmentRemoved& event);
    void on(const core::Attached& event);
    void on(const core::Detached& event);
    void on(const core::ProcessTerminated& event);
    void on(const core::WaitGranted& event);
    void on(const core::LeaseEnding& event);
    template <typename Other>
    void on(const Other& /*event*/) {}

    core::Log& log_;
};

} // namespace genv::service
