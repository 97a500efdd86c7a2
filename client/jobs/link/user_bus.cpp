// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/jobs/link/user_bus.hpp"

#include "client/jobs/link/unavailable.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <limits>

namespace genv::jobs {

std::vector<std::string> userBusAddresses(const char* variable, std::uint32_t uid) {
    std::vector<std::string> addresses;
    if (variable != nullptr && *variable != '\0')
        addresses.emplace_back(variable);
    std::string ofManager = fmt::format("unix:path=/run/user/{}/bus", uid);
    if (addresses.empty() || addresses.front() != ofManager)
        addresses.push_back(std::move(ofManager));
    return addresses;
}

std::unique_ptr<sdbus::IConnection> connectToUserBus() {
    std::string address;
    std::string why;
    for (const std::string& next :
         userBusAddresses(std::getenv("DBUS_SESSION_BUS_ADDRESS"), geteuid())) {
        try {
            auto bus = sdbus::createSessionBusConnectionWithAddress(next);
            bus->setMethodCallTimeout(std::numeric_limits<std::uint64_t>::max());
            return bus;
        } catch (const sdbus::Error& error) {
            address = next;
            why = error.getMessage();
        }
    }
    throw noUserBus(address, why, userBusPlaces());
}

} // namespace genv::jobs
