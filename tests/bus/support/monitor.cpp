// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/bus/support/monitor.hpp"

#include <chrono>
#include <cstdlib>
#include <stdexcept>

namespace genv::tests {

void Monitor::requireGood(int result, const char* what) {
    if (result < 0)
        throw std::runtime_error(std::string("monitor: ") + what);
}

Monitor::Monitor(const char* rule) {
    sd_bus* bus = nullptr;
    requireGood(sd_bus_new(&bus), "new");
    bus_.reset(bus);
    requireGood(sd_bus_set_address(bus, std::getenv("DBUS_SYSTEM_BUS_ADDRESS")), "address");
    requireGood(sd_bus_set_bus_client(bus, 1), "client");
    requireGood(sd_bus_set_monitor(bus, 1), "monitor");
    requireGood(sd_bus_start(bus), "start");
    requireGood(sd_bus_call_method(bus, "org.freedesktop.DBus", "/org/freedesktop/DBus",
                                   "org.freedesktop.DBus.Monitoring", "BecomeMonitor", nullptr,
                                   nullptr, "asu", 1, rule, 0U),
                "BecomeMonitor");
}

std::vector<std::string> Monitor::awaitCall(const std::string& member) {
    const auto deadline = std::chrono::steady_clock::now() + eventDeadline;
    std::vector<std::string> before;
    while (std::chrono::steady_clock::now() < deadline) {
        sd_bus_message* next = nullptr;
        const int processed = sd_bus_process(bus_.get(), &next);
        const Message message(next, Unref{});
        requireGood(processed, "process");
        if (processed == 0)
            requireGood(sd_bus_wait(bus_.get(), 1'000'000), "wait");
        if (!message || sd_bus_message_is_method_call(next, nullptr, nullptr) <= 0)
            continue;
        if (sd_bus_message_get_member(next) == member)
            return before;
        before.emplace_back(sd_bus_message_get_member(next));
    }
    throw std::runtime_error("waited in vain for a call of " + member);
}

} // namespace genv::tests
