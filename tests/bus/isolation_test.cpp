// SPDX-License-Identifier: LGPL-2.1-or-later
// The kernel refuses GPUs to users who do not hold them. The test runs the whole service with the
// program that genv-isolation attaches, here to a control group of the test. There is no driver, so
// a permitted open fails with ENXIO.
#include "tests/bus/support/fixture.hpp"
#include "tests/service/isolation/gate_machine.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace genv::tests {
namespace {

using Opening = GateMachine::Opening;

// Reads the manager's properties and the rows of its lists as text.
class Isolation : public BusTest {
  protected:
    Isolation()
        : BusTest({{"GENV_MOCK_DEVICE_COUNT", "2"}, {"GENV_MOCK_DEVICE_NODES", "195:0,195:1"}}) {}

    void configure(const std::string& isolation) {
        std::ofstream(Service::configurationFolder() / "genvd.conf")
            << "[Enforcement]\nInterval=1s\n[Isolation]\n" + isolation;
        const Answer answer = asRoot->manager("Reload");
        ASSERT_TRUE(answer.ok()) << answer.text;
    }
    std::string inForce() { return asAlice->property(managerPath, managerInterface, "Isolation"); }
    // Returns a text from DescribeIsolation.
    std::string described(const std::string& key) {
        const Answer answer = asAlice->manager("DescribeIsolation");
        EXPECT_TRUE(answer.ok()) << answer.text;
        return textAt(answer.message.get(), key);
    }
    // Returns a text from the property Policy.
    std::string policy(const std::string& key) {
        const Answer answer = asAlice->call(managerPath, "org.freedesktop.DBus.Properties", "Get",
                                            "ss", managerInterface, "Policy");
        EXPECT_TRUE(answer.ok()) << answer.text;
        sd_bus_message_enter_container(answer.message.get(), 'v', "a{sv}");
        return textAt(answer.message.get(), key);
    }

  private:
    static std::string textAt(sd_bus_message* message, const std::string& key) {
        sd_bus_message_enter_container(message, 'a', "{sv}");
        while (sd_bus_message_enter_container(message, 'e', "sv") > 0) {
            const char* name = nullptr;
            sd_bus_message_read(message, "s", &name);
            const char* type = nullptr;
            sd_bus_message_peek_type(message, nullptr, &type);
            if (key == name && std::string(type) == "s") {
                const char* text = nullptr;
                sd_bus_message_read(message, "v", "s", &text);
                return text;
            }
            sd_bus_message_skip(message, "v");
            sd_bus_message_exit_container(message);
        }
        return "not there";
    }
};

TEST_F(Isolation, IsNotConfiguredAtFirst) {
    EXPECT_EQ(inForce(), "none");
    EXPECT_EQ(described("wanted"), "none");
    EXPECT_EQ(described("trouble"), "");
    const Answer answer = asRoot->manager("SuspendIsolation", "b", 1);
    EXPECT_EQ(answer.error, error::notSupported);
    EXPECT_NE(answer.text.find("set Isolation=watch or Isolation=user in genvd.conf"),
              std::string::npos)
        << answer.text;
}

TEST_F(Isolation, IsPartOfThePolicyAsConfigured) {
    EXPECT_EQ(policy("Isolation"), "none");
    for (const std::string mode : {"user", "watch", "none"}) {
        configure("Isolation=" + mode + "\n");
        EXPECT_EQ(policy("Isolation"), mode);
        EXPECT_EQ(inForce(), "none") << "there is no program";
    }
}

TEST_F(Isolation, IsNeverSaidToBeInForceWithoutTheProgram) {
    configure("Isolation=user\n");
    EXPECT_EQ(inForce(), "none");
    EXPECT_EQ(described("wanted"), "user");
    EXPECT_NE(described("trouble"), "");
    service.waitForLog("isolation: ");
    EXPECT_EQ(asRoot->manager("SuspendIsolation", "b", 1).error, error::notSupported);
    EXPECT_EQ(asAlice->manager("SuspendIsolation", "b", 1).error, error::interactive);
    const UserProcess shell(alice);
    EXPECT_NE(activate(*asAlice, shell, 1), "") << "GPUs are shared all the same";
}

/// With the program attached, for the children of this test.
class IsolatedGpus : public Isolation {
  protected:
    IsolatedGpus() = default;

    void SetUp() override {
        if (const std::string why = whyNoGate(); !why.empty())
            GTEST_SKIP() << why;
        gpus = std::make_unique<GateMachine>();
        runLoader("Isolation=user\n");
    }
    void TearDown() override {
        if (gpus) {
            EXPECT_EQ(std::system(GENV_TEST_GENV_ISOLATION " --remove 2>/dev/null"), 0);
        }
    }

    // The test's bus has a /sys/fs/bpf of its own.
    void runLoader(const std::string& isolation) {
        std::ofstream(Service::configurationFolder() / "genvd.conf")
            << "[Enforcement]\nInterval=1s\n[Isolation]\n" + isolation;
        const std::string command =
            fmt::format("CONFIGURATION_DIRECTORY={} {} --control-group {}",
                        Service::configurationFolder().string(), GENV_TEST_GENV_ISOLATION,
                        gpus->controlGroup().string());
        ASSERT_EQ(std::system(command.c_str()), 0); // NOLINT(cert-env33-c)
        configure(isolation);
    }
    Opening open(core::DeviceIndex gpu, core::Uid uid) { return gpus->open({195, gpu}, uid); }

    std::unique_ptr<GateMachine> gpus;
};

TEST_F(IsolatedGpus, AreOpenToTheirHoldersAlone) {
    EXPECT_EQ(inForce(), "user");
    EXPECT_EQ(described("trouble"), "");
    EXPECT_EQ(open(0, alice), Opening::Refused);
    const UserProcess shell(alice);
    const std::string id = activate(*asAlice, shell, 1);
    EXPECT_EQ(open(0, alice), Opening::LetThrough);
    EXPECT_EQ(open(1, alice), Opening::Refused);
    EXPECT_EQ(open(0, bob), Opening::Refused);
    EXPECT_EQ(open(0, root), Opening::LetThrough);
    EXPECT_TRUE(asAlice->environment(id, "Detach", "au", 0).ok());
    EXPECT_EQ(open(0, alice), Opening::Refused) << "closed before the reply";
}

TEST_F(IsolatedGpus, CloseWithTheirEnvironment) {
    auto shell = std::make_unique<UserProcess>(alice);
    activate(*asAlice, *shell, 2);
    EXPECT_EQ(open(1, alice), Opening::LetThrough);
    bool isGone = false;
    const Slot slot = asBob->listen("type='signal',member='EnvironmentRemoved'",
                                    [&](sd_bus_message*) { isGone = true; });
    shell.reset();
    asBob->processUntil([&] { return isGone; }, "EnvironmentRemoved");
    EXPECT_EQ(open(1, alice), Opening::Refused);
}

TEST_F(IsolatedGpus, StayOpenToTheirHoldersOverACrashOfTheService) {
    const UserProcess shell(alice);
    activate(*asAlice, shell, 1);
    service.end(SIGKILL);
    EXPECT_EQ(open(0, alice), Opening::LetThrough) << "the kernel needs no service";
    EXPECT_EQ(open(0, bob), Opening::Refused);
    service.start();
    EXPECT_EQ(inForce(), "user");
    EXPECT_EQ(open(0, alice), Opening::LetThrough);
    EXPECT_EQ(open(0, bob), Opening::Refused);
}

TEST_F(IsolatedGpus, AreOpenedByAnAdministratorUntilIsolationIsResumed) {
    EXPECT_EQ(asBob->manager("SuspendIsolation", "b", 1).error, error::interactive);
    EXPECT_TRUE(asRoot->manager("SuspendIsolation", "b", 1).ok());
    EXPECT_EQ(inForce(), "none");
    EXPECT_EQ(open(0, bob), Opening::LetThrough);
    service.end(SIGKILL);
    service.start();
    EXPECT_EQ(open(0, bob), Opening::LetThrough) << "a restart does not close it again";
    EXPECT_TRUE(asRoot->manager("SuspendIsolation", "b", 0).ok());
    EXPECT_EQ(inForce(), "user");
    EXPECT_EQ(open(0, bob), Opening::Refused);
}

TEST_F(IsolatedGpus, HaveTheirModeToldWhenItChanges) {
    std::vector<std::string> received;
    const Slot slot = asBob->listen(
        "type='signal',interface='org.freedesktop.DBus.Properties',member='PropertiesChanged',"
        "path='/dev/genv/Manager'",
        [&](sd_bus_message* message) {
            sd_bus_message_skip(message, "s");
            sd_bus_message_enter_container(message, 'a', "{sv}");
            while (sd_bus_message_enter_container(message, 'e', "sv") > 0) {
                const char* name = nullptr;
                const char* value = nullptr;
                sd_bus_message_read(message, "s", &name);
                if (std::string(name) == "Isolation" &&
                    sd_bus_message_read(message, "v", "s", &value) > 0)
                    received.emplace_back(value);
                else
                    sd_bus_message_skip(message, "v");
                sd_bus_message_exit_container(message);
            }
        });
    // The signal about the mode may arrive before or after this starts to listen.
    const auto awaitMode = [&](const std::string& mode) {
        asBob->processUntil([&] { return !received.empty() && received.back() == mode; },
                            ("Isolation to be told as " + mode).c_str());
    };
    asBob->ping();
    configure("Isolation=watch\n");
    awaitMode("watch");
    EXPECT_EQ(policy("Isolation"), "watch");
    EXPECT_TRUE(asRoot->manager("SuspendIsolation", "b", 1).ok());
    awaitMode("none");
    EXPECT_EQ(policy("Isolation"), "watch") << "as configured";
    EXPECT_TRUE(asRoot->manager("SuspendIsolation", "b", 0).ok());
    awaitMode("watch");
}

TEST_F(IsolatedGpus, AreWatchedOnlyWhereThatIsConfigured) {
    configure("Isolation=watch\n");
    EXPECT_EQ(inForce(), "watch");
    EXPECT_EQ(open(1, bob), Opening::LetThrough);
    const Answer counted = asBob->manager("ListRefusedOpens", "a{sv}", 0);
    ASSERT_TRUE(counted.ok()) << counted.text;
    sd_bus_message* message = counted.message.get();
    std::uint32_t uid = 0;
    std::uint32_t device = 7;
    const char* node = nullptr;
    std::uint64_t count = 0;
    ASSERT_GT(sd_bus_message_enter_container(message, 'a', "(uusttus)"), 0);
    ASSERT_GT(sd_bus_message_enter_container(message, 'r', "uusttus"), 0);
    ASSERT_GT(sd_bus_message_read(message, "uust", &uid, &device, &node, &count), 0);
    EXPECT_EQ(uid, bob);
    EXPECT_EQ(device, 1U);
    EXPECT_STREQ(node, "GPU 1");
    EXPECT_EQ(count, 1U);
    EXPECT_EQ(asBob->manager("ListRefusedOpens", "a{sv}", 1, "all", "b", 1).error,
              error::interactive);
    EXPECT_TRUE(asRoot->manager("ListRefusedOpens", "a{sv}", 1, "all", "b", 1).ok());
}

TEST_F(IsolatedGpus, TellTheUserWhoWasRefused) {
    // The first reading of the kernel's counters causes no notices.
    ASSERT_TRUE(asRoot->manager("Snapshot").ok());
    std::string kind;
    std::uint32_t uid = 0;
    const Slot slot = asBob->listen("type='signal',member='Notice'", [&](sd_bus_message* message) {
        const char* text = nullptr;
        sd_bus_message_read(message, "us", &uid, &text);
        kind = text;
    });
    asBob->ping();
    EXPECT_EQ(open(1, bob), Opening::Refused);
    asBob->processUntil([&] { return !kind.empty(); }, "Notice");
    EXPECT_EQ(kind, "open-refused");
    EXPECT_EQ(uid, bob);
    EXPECT_EQ(asBob->property(devicePath(1), deviceInterface, "RefusedOpens"), "1");
    service.waitForLog("the kernel refused 1 attempt of uid 1002 to open GPU 1");
}

// An upgrade runs the loader again, and an administrator may remove the gate by hand.
TEST_F(IsolatedGpus, AreGuardedAgainWithTheSameGrantsAfterTheGateWasMadeAnew) {
    const UserProcess shell(alice);
    activate(*asAlice, shell, 1);
    std::filesystem::remove_all("/sys/fs/bpf/genv");
    EXPECT_EQ(gpus->openWithoutGate({195, 1}, bob), Opening::LetThrough);
    EXPECT_TRUE(asRoot->manager("Reload").ok());
    EXPECT_EQ(inForce(), "none");
    EXPECT_NE(described("trouble"), "");
    runLoader("Isolation=user\n");
    EXPECT_EQ(inForce(), "user");
    EXPECT_EQ(open(0, alice), Opening::LetThrough);
    EXPECT_EQ(open(0, bob), Opening::Refused);
}

} // namespace
} // namespace genv::tests
