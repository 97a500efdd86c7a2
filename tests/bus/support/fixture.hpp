// SPDX-License-Identifier: LGPL-2.1-or-later
// A running service, a client for each user, and common steps of tests as single calls.
#pragma once

#include "tests/bus/support/client.hpp"
#include "tests/bus/support/processes.hpp"
#include "tests/bus/support/service.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace genv::tests {

class BusTest : public ::testing::Test {
  protected:
    explicit BusTest(std::map<std::string, std::string> variables = {})
        : service(std::move(variables)) {
        service.start();
        asRoot = std::make_unique<Client>(root);
        asAlice = std::make_unique<Client>(alice);
        asBob = std::make_unique<Client>(bob);
        asCarol = std::make_unique<Client>(carol);
    }
    ~BusTest() override {
        if (HasFailure())
            std::fprintf(stderr, "--- genvd's log ---\n%s", service.log().c_str());
    }

    /// Activates an environment of the client's user, kept alive by this process, and returns its
    /// id.
    static std::string activate(Client& client, const UserProcess& process) {
        return client.manager("Activate", "a{sv}", 1, "pid", "u", process.pid()).readString();
    }
    static std::string activate(Client& client, const UserProcess& process, std::uint32_t gpus) {
        return client.manager("Activate", "a{sv}", 2, "pid", "u", process.pid(), "gpus", "u", gpus)
            .readString();
    }

    /// Lets other users over-subscribe the devices of an environment.
    static void allowOverSubscribe(Client& client, const std::string& id) {
        const Answer answer =
            client.environment(id, "Configure", "a{sv}as", 1, "over-subscribable", "b", 1, 0);
        EXPECT_TRUE(answer.ok()) << answer.text;
    }

    std::string devicesOf(const std::string& id) {
        return asRoot->property(environmentPath(id), environmentInterface, "Devices");
    }
    std::string environmentCount() {
        return asRoot->property(managerPath, managerInterface, "EnvironmentCount");
    }

    Service service;
    std::unique_ptr<Client> asRoot;
    std::unique_ptr<Client> asAlice;
    std::unique_ptr<Client> asBob;
    std::unique_ptr<Client> asCarol;
};

/// The error names that tests compare.
namespace error {
inline constexpr const char* noSuchEnvironment = "dev.genv.Error.NoSuchEnvironment";
inline constexpr const char* noSuchDevice = "dev.genv.Error.NoSuchDevice";
inline constexpr const char* noSuchProcess = "dev.genv.Error.NoSuchProcess";
inline constexpr const char* deviceUnavailable = "dev.genv.Error.DeviceUnavailable";
inline constexpr const char* notEnoughDevices = "dev.genv.Error.NotEnoughDevices";
inline constexpr const char* alreadyExists = "dev.genv.Error.AlreadyExists";
inline constexpr const char* quotaExceeded = "dev.genv.Error.QuotaExceeded";
inline constexpr const char* notAttached = "dev.genv.Error.NotAttached";
inline constexpr const char* accessDenied = "org.freedesktop.DBus.Error.AccessDenied";
inline constexpr const char* interactive =
    "org.freedesktop.DBus.Error.InteractiveAuthorizationRequired";
inline constexpr const char* invalidArgs = "org.freedesktop.DBus.Error.InvalidArgs";
inline constexpr const char* limitsExceeded = "org.freedesktop.DBus.Error.LimitsExceeded";
inline constexpr const char* notSupported = "org.freedesktop.DBus.Error.NotSupported";
} // namespace error

} // namespace genv::tests
