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

  private:
    std::unique_ptr<core::Scheduled> watchdog_;
};

} // namespace genv::service
