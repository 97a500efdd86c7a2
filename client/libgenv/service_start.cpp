// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/libgenv/service_start.hpp"

#include "client/unit_failure.hpp"
#include "dbus/contract/names.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace genv::client {

namespace contract = dbus::contract;

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr const char* systemd = "org.freedesktop.systemd1";
constexpr const char* unitPath = "/org/freedesktop/systemd1/unit/genvd_2eservice";
constexpr const char* unitInterface = "org.freedesktop.systemd1.Unit";
constexpr const char* serviceInterface = "org.freedesktop.systemd1.Service";
// The exit status of a service with an invalid configuration.
constexpr std::int32_t exitConfiguration = 78;
// The interval between requests to systemd during the start.
constexpr auto betweenLooks = 100ms;

bool isThere(Connection& connection) {
    bool has = false;
    connection.proxy(contract::busDriver, contract::busDriverPath)
        ->callMethod("NameHasOwner")
        .onInterface(contract::busDriver)
        .withArguments(contract::busName)
        .storeResultsTo(has);
    return has;
}

// The timeout of the call has expired, which does not mean that the service has failed.
bool isLate(const sdbus::Error& error) {
    return error.getName() == contract::error::timeout ||
           error.getName() == "org.freedesktop.DBus.Error.NoReply" ||
           error.getName() == "System.Error.ETIMEDOUT";
}

// The service's unit. Without a reply from systemd, there is no such object.
class Unit {
  public:
    explicit Unit(Connection& connection) : proxy_(connection.proxy(systemd, unitPath)) {}

    /// Whether systemd has loaded this unit. Throws ServiceUnavailable if an administrator has
    /// masked it, or if it does not exist.
    bool exists() {
        const auto state = read<std::string>(unitInterface, "LoadState");
        if (state == "masked")
            throw ServiceUnavailable("org.freedesktop.systemd1.UnitMasked",
                                     "genvd.service is masked");
        if (state == "not-found")
            throwNotInstalled();
        return state == "loaded";
    }

    /// Throws ServiceUnavailable if systemd does not know this unit.
    void requireInstalled() {
        if (read<std::string>(unitInterface, "LoadState") == "not-found")
            throwNotInstalled();
    }

    /// Throws ServiceUnavailable if the unit has failed, or only if its configuration was invalid.
    void requireNotFailed(bool onlyConfiguration = false) {
        if (read<std::string>(unitInterface, "ActiveState") != "failed")
            return;
        const UnitFailure failure{
            read<std::string>(serviceInterface, "Result").value_or(""),
            read<std::int32_t>(serviceInterface, "ExecMainCode").value_or(0),
            read<std::int32_t>(serviceInterface, "ExecMainStatus").value_or(0),
            read<std::string>(serviceInterface, "StatusText").value_or(""),
            read<std::uint32_t>(serviceInterface, "NRestarts").value_or(0)};
        const bool isConfiguration = failure.status == exitConfiguration;
        if (onlyConfiguration && !isConfiguration)
            return;
        throw ServiceUnavailable(isConfiguration ? "org.freedesktop.DBus.Error.Spawn.ConfigInvalid"
                                                 : "org.freedesktop.DBus.Error.Spawn.Failed",
                                 "genvd.service has failed: " + reasonOf(failure));
    }

  private:
    [[noreturn]] static void throwNotInstalled() {
        throw ServiceUnavailable("org.freedesktop.systemd1.NoSuchUnit",
                                 "genvd.service is not installed");
    }

    template <typename T>
    std::optional<T> read(const char* interface, const char* property) {
        try {
            sdbus::MethodCall message =
                dbus::compat::makeCall(*proxy_, "org.freedesktop.DBus.Properties", "Get");
            Connection::startNoService(message);
            message << interface << property;
            sdbus::MethodReply reply = proxy_->callMethod(message);
            sdbus::Variant value;
            reply >> value;
            return value.get<T>();
        } catch (const sdbus::Error&) {
            return std::nullopt;
        }
    }

    std::unique_ptr<sdbus::IProxy> proxy_;
};

} // namespace

void requireService(Connection& connection) {
    if (isThere(connection))
        return;
    Unit unit(connection);
    if (!unit.exists())
        return;
    unit.requireNotFailed(true);
    const auto bus = connection.proxy(contract::busDriver, contract::busDriverPath);
    const auto until = Clock::now() + connection.usualTimeout();
    for (;;) {
        try {
            std::uint32_t result = 0;
            bus->callMethod("StartServiceByName")
                .onInterface(contract::busDriver)
                .withTimeout(betweenLooks)
                .withArguments(contract::busName, std::uint32_t{0})
                .storeResultsTo(result);
            return;
        } catch (const sdbus::Error& error) {
            unit.requireNotFailed();
            if (isThere(connection))
                return;
            if (!isLate(error) || Clock::now() >= until)
                throw;
        }
    }
}

void requireInstalled(Connection& connection) {
    Unit(connection).requireInstalled();
}

} // namespace genv::client
