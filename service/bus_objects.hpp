// SPDX-License-Identifier: LGPL-2.1-or-later
// The service's objects on the bus, its signals, and the intake of messages.
#pragma once

#include "dbus/context.hpp"
#include "dbus/intake.hpp"
#include "dbus/manager_object.hpp"
#include "dbus/notices.hpp"
#include "dbus/publisher.hpp"
#include "service/bus_calls.hpp"
#include "service/journal/refusal_log.hpp"
#include "service/loop/bus_source.hpp"

#include <functional>
#include <string>

namespace genv::service {

class BusObjects {
  public:
    /// Makes an object for everything in the ledger, and reads messages from the next turn of the
    /// loop on. Calls `disconnected` from the loop when the bus is gone. All outlive this.
    BusObjects(BusCalls& calls, journal::RefusalLog& refusals, dbus::Context context,
               std::function<void()> disconnected);
    BusObjects(const BusObjects&) = delete;
    BusObjects& operator=(const BusObjects&) = delete;

    [[nodiscard]] dbus::Publisher& publisher() { return publisher_; }
    [[nodiscard]] dbus::Notices& notices() { return notices_; }

  private:
    [[nodiscard]] sdbus::Slot watchClients();
    void onDisconnected(const std::string& busName);

    BusCalls& calls_;
    journal::RefusalLog& refusals_;
    const dbus::Context context_;
    dbus::ManagerObject manager_;
    dbus::Publisher publisher_;
    dbus::Notices notices_;
    dbus::Intake intake_;
    BusSource busSource_;
    sdbus::Slot clientsLeaving_;
};

} // namespace genv::service
