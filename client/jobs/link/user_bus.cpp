// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/jobs/link/user_bus.hpp"

#include "client/jobs/link/jobs_unavailable.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <limits>
#include <string_view>

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

std::unique_ptr<sdbus::IConnection> connect() {
    auto bus = sdbus::createSessionBusConnection();
    bus->setMethodCallTimeout(std::numeric_limits<std::uint64_t>::max());
    return bus;
}

// Whether a file of this user is at the address. Other addresses than paths are not looked at.
bool isOwn(std::string_view address) {
    constexpr std::string_view ofPath = "unix:path=";
    if (!address.starts_with(ofPath))
        return true;
    address.remove_prefix(ofPath.size());
    struct stat status {};
    return stat(std::string(address.substr(0, address.find_first_of(",;"))).c_str(), &status) ==
               0 &&
           status.st_uid == geteuid();
}

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

bool nameUserBus() {
    for (const std::string& address : userBusAddresses(std::getenv(variable), geteuid())) {
        if (isOwn(address))
            return setenv(variable, address.c_str(), 1) == 0;
    }
    return false;
}

std::unique_ptr<sdbus::IConnection> connectToNamedUserBus() {
    try {
        return connect();
    } catch (const sdbus::Error& error) {
        const char* address = std::getenv(variable);
        throw noUserBus(address == nullptr ? "" : address, error.getMessage(), userBusPlaces());
    }
}

std::unique_ptr<sdbus::IConnection> connectToUserBus() {
    std::string address;
    std::string why;
    for (const std::string& next : userBusAddresses(std::getenv(variable), geteuid())) {
        const AddressVariable set(next);
        try {
            return connect();
        } catch (const sdbus::Error& error) {
            address = next;
            why = error.getMessage();
        }
    }
    throw noUserBus(address, why, userBusPlaces());
}

} // namespace genv::jobs
