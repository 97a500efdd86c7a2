// SPDX-License-Identifier: LGPL-2.1-or-later
// What systemd is told: ready, reloading, stopping, and that the loop still turns. Without systemd
// nothing is told.
#pragma once

#include "core/ports/scheduler.hpp"

#include <memory>
#include <string>

namespace genv::service {

class SystemManager {
  public:
    /// Begins to answer the watchdog, twice in the time it allows, where the unit has one.
    SystemManager();

    void ready(const std::string& status);
    void reloading();
    void stopping();
    /// Shows a sentence beside the unit.
    void status(const std::string& status);
    /// Shows why the service does not start; users read that, and not the journal. Returns when
    /// systemd has heard it.
    static void failed(const std::string& why);

  private:
    std::unique_ptr<core::Scheduled> watchdog_;
};

} // namespace genv::service
