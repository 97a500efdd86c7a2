// SPDX-License-Identifier: LGPL-2.1-or-later
// Notifies systemd that the service is ready, reloading or stopping, and that the loop still runs.
// Does nothing if systemd did not start the service.
#pragma once

#include "core/ports/scheduler.hpp"

#include <memory>
#include <string>

namespace genv::service {

class SystemManager {
  public:
    /// Starts to answer the watchdog, at half the interval that it allows, if the unit has one.
    SystemManager();

    void ready(const std::string& status);
    void reloading();
    void stopping();
    /// Shows a sentence beside the unit.
    void status(const std::string& status);
    /// Shows why the service does not start. Users read this message rather than the journal.
    /// Returns when systemd has received it.
    static void failed(const std::string& why);

  private:
    std::unique_ptr<core::Scheduled> watchdog_;
};

} // namespace genv::service
