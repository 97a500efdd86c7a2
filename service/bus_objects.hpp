// SPDX-License-Identifier: LGPL-2.1-or-later
// The service's objects on the bus, its signals, and the reception of its messages.
#pragma once

#include "dbus/calls/bus_context.hpp"
#include "dbus/calls/intake.hpp"
#include "dbus/manager/manager_object.hpp"
#include "dbus/publishing/notices.hpp"
#include "dbus/publishing/publisher.hpp"
#include "service/bus_calls.hpp"
#include "service/journal/refusal_log.hpp"
#include "service/loop/bus_source.hpp"

#include <functional>
#include <memory>
#include <string>

namespace genv::service {

class BusObjects {
  public:
    /// Creates an object for each item in the ledger. Starts to read messages in the next iteration
    /// of the event loop. Calls `disconnected` from the loop when the connection to the bus is
    /// lost. All arguments must outlive this object.
    BusObjects(BusCalls& calls, journal::RefusalLog& refusals, dbus::BusContext context,
               std::function<void()> disconnected);
    BusObjects(const BusObjects&) = delete;
    BusObjects& operator=(const BusObjects&) = delete;

    [[nodiscard]] dbus::Publisher& publisher() { return publisher_; }
    [[nodiscard]] dbus::Notices& notices() { return notices_; }

  private:
    [[nodiscard]] sdbus::Slot watchClients();
    void onDisconnected(const std::string& busName);
    void cancelWaits(const std::string& busName);

    BusCalls& calls_;
    journal::RefusalLog& refusals_;
    const dbus::BusContext context_;
    const std::unique_ptr<sdbus::IProxy> bus_; ///< the bus itself
    dbus::ManagerObject manager_;
    dbus::Publisher publisher_;
    dbus::Notices notices_;
    dbus::Intake intake_;
    BusSource busSource_;
    sdbus::Slot clientsLeaving_;
};

} // namespace genv::service
