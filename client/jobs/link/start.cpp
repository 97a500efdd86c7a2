// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/jobs/link/start.hpp"

#include "client/jobs/link/jobs_unavailable.hpp"
#include "client/unit_failure.hpp"
#include "dbus/contract/jobs_names.hpp"
#include "dbus/contract/names.hpp"
#include "dbus/contract/raw_bus.hpp"
#include "dbus/contract/sdbus_compat.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace genv::jobs {

namespace contract = dbus::contract;

namespace {

using namespace std::chrono_literals;

constexpr const char* systemd = "org.freedesktop.systemd1";
constexpr const char* unitPath = "/org/freedesktop/systemd1/unit/genv_2djobs_2eservice";
constexpr const char* unitInterface = "org.freedesktop.systemd1.Unit";
constexpr const char* serviceInterface = "org.freedesktop.systemd1.Service";
// The interval between questions to the manager during the start.
constexpr auto betweenLooks = 100ms;
// The manager restarts genv-jobs. If it has ended so often, it does not get better by itself.
constexpr std::uint32_t maxRestarts = 2;

bool isThere(sdbus::IProxy& driver) {
    bool has = false;
    driver.callMethod("NameHasOwner")
        .onInterface(contract::busDriver)
        .withArguments(contract::jobsBusName)
        .storeResultsTo(has);
    return has;
}

// The timeout of the call has expired, which does not mean that the start has failed.
bool isLate(const sdbus::Error& error) {
    return error.getName() == contract::error::timeout ||
           error.getName() == "org.freedesktop.DBus.Error.NoReply" ||
           error.getName() == "System.Error.ETIMEDOUT";
}

/// The unit of genv-jobs. Without an answer from the manager, its properties are empty.
class Unit {
  public:
    explicit Unit(sdbus::IConnection& bus)
        : manager_(dbus::compat::makeProxy(bus, systemd, "/org/freedesktop/systemd1")),
          proxy_(dbus::compat::makeProxy(bus, systemd, unitPath)) {}

    /// Asks the manager for a start. A bus that still waits for the end of an earlier start, which
    /// has failed, would not ask again. Does nothing if the bus has no manager.
    void start() {
        try {
            sdbus::MethodCall message =
                dbus::compat::makeCall(*manager_, "org.freedesktop.systemd1.Manager", "StartUnit");
            dbus::raw::Message(message).startNoService();
            message << "genv-jobs.service"
                    << "replace";
            manager_->callMethod(message);
        } catch (const sdbus::Error& error) {
            if (error.getName() != "org.freedesktop.DBus.Error.ServiceUnknown" &&
                error.getName() != "org.freedesktop.DBus.Error.NameHasNoOwner")
                throw;
        }
    }

    /// Throws Unavailable if the unit has failed, or fails again and again.
    void requireNotFailed() {
        const bool hasFailed = read(unitInterface).get<std::string>("ActiveState") == "failed";
        const Properties service = read(serviceInterface);
        const client::UnitFailure failure{
            service.get<std::string>("Result"), service.get<std::int32_t>("ExecMainCode"),
            service.get<std::int32_t>("ExecMainStatus"), service.get<std::string>("StatusText"),
            service.get<std::uint32_t>("NRestarts")};
        // A new attempt has begun, as long as its result is not another one.
        if (failure.result != "success" && (hasFailed || failure.restarts >= maxRestarts))
            throw notReached("org.freedesktop.DBus.Error.Spawn.Failed", client::reasonOf(failure));
    }

  private:
    /// The properties of one moment.
    struct Properties {
        std::map<std::string, sdbus::Variant> values;

        template <typename Value>
        [[nodiscard]] Value get(const char* name) const {
            const auto found = values.find(name);
            return found == values.end() ? Value{} : found->second.get<Value>();
        }
    };

    Properties read(const char* interface) {
        Properties properties;
        try {
            sdbus::MethodCall message =
                dbus::compat::makeCall(*proxy_, "org.freedesktop.DBus.Properties", "GetAll");
            dbus::raw::Message(message).startNoService();
            message << interface;
            sdbus::MethodReply reply = proxy_->callMethod(message);
            reply >> properties.values;
        } catch (const sdbus::Error&) { // NOLINT(bugprone-empty-catch): there is no manager
        }
        return properties;
    }

    std::unique_ptr<sdbus::IProxy> manager_;
    std::unique_ptr<sdbus::IProxy> proxy_;
};

} // namespace

bool hasJobs(sdbus::IConnection& bus) {
    return isThere(*dbus::compat::makeProxy(bus, contract::busDriver, contract::busDriverPath));
}

void requireJobs(sdbus::IConnection& bus) {
    const auto driver = dbus::compat::makeProxy(bus, contract::busDriver, contract::busDriverPath);
    if (isThere(*driver))
        return;
    Unit unit(bus);
    unit.start();
    do {
        try {
            std::uint32_t result = 0;
            driver->callMethod("StartServiceByName")
                .onInterface(contract::busDriver)
                .withTimeout(betweenLooks)
                .withArguments(contract::jobsBusName, std::uint32_t{0})
                .storeResultsTo(result);
            return;
        } catch (const sdbus::Error& error) {
            if (!isLate(error))
                throw;
            unit.requireNotFailed();
        }
    } while (!isThere(*driver));
}

} // namespace genv::jobs
