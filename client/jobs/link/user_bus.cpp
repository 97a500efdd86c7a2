// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/jobs/link/user_bus.hpp"

#include "client/jobs/link/unavailable.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <limits>

namespace genv::jobs {

namespace {

constexpr const char* variable = "DBUS_SESSION_BUS_ADDRESS";

/// Sets the variable that sd_bus_open_user(3) reads, until the end of the scope. sdbus-c++ 1 takes
/// an address, too, but leaks a connection that it cannot open there.
class AddressVariable {
  public:
    explicit AddressVariable(const std::string& address) {
        if (const char* value = std::getenv(variable))
            former_ = value;
        setenv(variable, address.c_str(), 1);
    }
    AddressVariable(const AddressVariable&) = delete;
    AddressVariable& operator=(const AddressVariable&) = delete;
    ~AddressVariable() {
        if (former_)
            setenv(variable, former_->c_str(), 1);
        else
            unsetenv(variable);
    }

  private:
    std::optional<std::string> former_;
};

} // namespace

std::vector<std::string> userBusAddresses(const char* given, std::uint32_t uid) {
    std::vector<std::string> addresses;
    if (given != nullptr && *given != '\0')
        addresses.emplace_back(given);
    std::string ofManager = fmt::format("unix:path=/run/user/{}/bus", uid);
    if (addresses.empty() || addresses.front() != ofManager)
        addresses.push_back(std::move(ofManager));
    return addresses;
}

std::unique_ptr<sdbus::IConnection> connectToUserBus() {
    std::string address;
    std::string why;
    for (const std::string& next : userBusAddresses(std::getenv(variable), geteuid())) {
        const AddressVariable set(next);
        try {
            auto bus = sdbus::createSessionBusConnection();
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
