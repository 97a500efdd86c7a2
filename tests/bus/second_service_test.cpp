// SPDX-License-Identifier: LGPL-2.1-or-later
// A service starts while the bus has an owner of its name: either the first service has ended and
// the bus does not know yet, or the first service keeps running.
#include "tests/bus/support/fixture.hpp"

#include <signal.h>

#include <filesystem>

namespace genv::tests {
namespace {

class SecondService : public BusTest {
  protected:
    SecondService() : BusTest({{"GENV_MOCK_DEVICE_COUNT", "1"}}) {}
};

// The bus may learn late that a service has ended.
TEST_F(SecondService, BeginsOnceTheFirstHasLeftTheBus) {
    const UserProcess shell(alice);
    const std::string id = activate(*asAlice, shell, 1);
    service.end(SIGKILL);
    waitUntil([&] { return sd_bus_request_name(asRoot->bus(), "dev.genv.Manager", 0) > 0; },
              "the name");
    service.launch();
    service.waitForLog("waiting until it has ended");
    ASSERT_GE(sd_bus_release_name(asRoot->bus(), "dev.genv.Manager"), 0);
    waitUntil([&] { return devicesOf(id) == "0"; }, "the service with what it had");
}

TEST_F(SecondService, TouchesNothingWhileTheFirstIsThere) {
    UserProcess shell(alice);
    const std::string id = activate(*asAlice, shell, 1);
    const auto documents = [] {
        std::vector<std::string> names;
        for (const auto& entry : std::filesystem::directory_iterator(Service::stateFolder()))
            names.push_back(entry.path().filename());
        return names;
    };
    const auto before = documents();
    ASSERT_EQ(before.size(), 1U);
    // The first service is stopped and does not see processes end. The second would treat them as
    // ended.
    ASSERT_EQ(::kill(service.pid(), SIGSTOP), 0);
    shell.kill(SIGKILL);
    shell.wait();
    const int status = std::system("timeout 120 " GENV_TEST_GENVD " 2>/dev/null");
    EXPECT_EQ(WEXITSTATUS(status), EXIT_FAILURE);
    EXPECT_EQ(documents(), before);
    ASSERT_EQ(::kill(service.pid(), SIGCONT), 0);
    waitUntil([&] { return environmentCount() == "0"; }, "the end of the environment");
}

TEST_F(SecondService, DoesNotTakeOver) {
    EXPECT_NE(runAs(root, {GENV_TEST_GENVD}).status, 0);
    EXPECT_TRUE(asAlice->manager("ListDevices").ok());
}

} // namespace
} // namespace genv::tests
