// SPDX-License-Identifier: LGPL-2.1-or-later
// Devices that a process outside every environment uses. A user who gets such a device receives a
// warning that names the process and its user. The warning comes before the answer, and never names
// a process that has exited.
#include "core/model/device.hpp"
#include "tests/bus/support/fixture.hpp"
#include "tests/bus/support/queue.hpp"

#include <signal.h>

#include <fstream>

namespace genv::tests {
namespace {

class OccupiedDevices : public BusTest {
  protected:
    OccupiedDevices() : BusTest({{"GENV_MOCK_DEVICE_COUNT", "1"}}) {}

    // Makes the service sample the GPUs, however recent its last sample is.
    void sample() { ASSERT_TRUE(asRoot->manager("Enforce", "a{sv}", 1, "dry-run", "b", 1).ok()); }
    // Returns a new environment with the device. Warnings that were sent before the answer have
    // been received.
    static std::string take(Client& client, const UserProcess& shell) {
        const auto call = client.start(managerPath, managerInterface, "Activate", "a{sv}", 2, "pid",
                                       "u", shell.pid(), "gpus", "u", 1U);
        return client.finish(*call).readString();
    }
    static void end(UserProcess& process) {
        process.kill(SIGKILL);
        process.wait();
    }
    static const RecordedSignals::Notice* warning(RecordedSignals& signals) {
        return signals.notice("device-occupied");
    }
    static void expectNamed(RecordedSignals& signals, const UserProcess& process, core::Uid owner) {
        ASSERT_NE(warning(signals), nullptr) << "before the answer";
        EXPECT_EQ(warning(signals)->details.at("pid"), std::to_string(process.pid()));
        EXPECT_EQ(warning(signals)->details.at("owner"), std::to_string(owner));
    }
};

TEST_F(OccupiedDevices, ComeWithThePidAndTheOwnerOfTheProcess) {
    const UserProcess shell(alice);
    const UserProcess program({.uid = bob, .compute = true});
    sample();
    RecordedSignals signals(*asAlice);
    take(*asAlice, shell);
    expectNamed(signals, program, bob);
}

TEST_F(OccupiedDevices, ComeWithoutAWarningOnceTheProcessIsKilled) {
    const UserProcess shell(alice);
    UserProcess program({.uid = bob, .compute = true});
    sample();
    end(program);
    RecordedSignals signals(*asAlice);
    const std::string id = take(*asAlice, shell);
    EXPECT_EQ(devicesOf(id), "0");
    sample(); // a late warning would arrive before this
    asAlice->ping();
    EXPECT_EQ(warning(signals), nullptr) << "of a process that is gone";
}

TEST_F(OccupiedDevices, ComeWithTheProcessThatIsLeftWhereTheKnownOneWasKilled) {
    const UserProcess shell(alice);
    UserProcess first({.uid = bob, .compute = true});
    sample();
    end(first);
    const UserProcess second({.uid = carol, .compute = true});
    RecordedSignals signals(*asAlice);
    take(*asAlice, shell);
    expectNamed(signals, second, carol);
}

TEST_F(OccupiedDevices, ComeWithTheWarningBeforeTheAnswerAlsoAfterAWait) {
    const UserProcess holder(carol);
    const UserProcess shell(alice);
    const std::string held = activate(*asCarol, holder, 1);
    const auto waiting = asAlice->start(managerPath, managerInterface, "Activate", "a{sv}", 3,
                                        "pid", "u", shell.pid(), "gpus", "u", 1U, "wait", "b", 1);
    waitUntil([&] { return waitingIn(*asRoot).size() == 1; }, "alice to wait");
    UserProcess first({.uid = bob, .compute = true});
    sample();
    end(first);
    const UserProcess second({.uid = bob, .compute = true});
    RecordedSignals signals(*asAlice);
    ASSERT_TRUE(asCarol->environment(held, "Detach", "au", 0).ok());
    EXPECT_TRUE(asAlice->finish(*waiting).ok());
    expectNamed(signals, second, bob);
}

// Two GPUs of 80 GB. No process accounts for 40 GB of the first one.
class UnaccountedDevices : public BusTest {
  protected:
    UnaccountedDevices()
        : BusTest({{"GENV_MOCK_DEVICE_COUNT", "2"},
                   {"GENV_MOCK_DEVICE_TOTAL_MEMORY", "80g"},
                   {"GENV_MOCK_DEVICE_USED_MEMORY", "1m"},
                   {"GENV_MOCK_DEVICE_UNACCOUNTED_MEMORY", "40g"}}) {
        for (int i = 0; i < 2; ++i)
            EXPECT_TRUE(asRoot->manager("Enforce", "a{sv}", 1, "dry-run", "b", 1).ok());
    }

    std::string device(core::DeviceIndex index, const char* name) {
        return asBob->property(devicePath(index), deviceInterface, name);
    }
};

TEST_F(UnaccountedDevices, AreNotFree) {
    EXPECT_EQ(device(0, "Free"), "0");
    EXPECT_EQ(device(0, "UnaccountedMemory"), "40000000000");
    EXPECT_EQ(device(0, "AvailableMemory"), "39999000000");
    EXPECT_EQ(device(1, "Free"), "1");
    EXPECT_EQ(device(1, "UnaccountedMemory"), "0");
    const UserProcess shell(alice);
    activate(*asAlice, shell, 1);
    EXPECT_EQ(device(1, "Free"), "0") << "the other one is given first";
}

TEST_F(UnaccountedDevices, ComeLastAndWithAWarning) {
    const UserProcess shell(alice);
    RecordedSignals signals(*asAlice);
    const auto call = asAlice->start(managerPath, managerInterface, "Activate", "a{sv}", 2, "pid",
                                     "u", shell.pid(), "gpus", "u", 2U);
    asAlice->finish(*call);
    const auto* warning = signals.notice("device-occupied");
    ASSERT_NE(warning, nullptr) << "before the answer";
    EXPECT_EQ(warning->details.at("device"), "0");
    EXPECT_EQ(warning->details.at("unaccounted-memory"), "40000000000");
    EXPECT_FALSE(warning->details.contains("pid"));
}

TEST_F(UnaccountedDevices, GiveSharesOfTheMemoryThatIsFree) {
    const UserProcess shell(alice);
    const std::string id = activate(*asAlice, shell);
    ASSERT_TRUE(
        asAlice->environment(id, "Configure", "a{sv}as", 1, "gpu-memory", "s", "60g", 0).ok());
    const Answer refused = asAlice->environment(id, "Attach", "a{sv}", 1, "index", "u", 0U);
    EXPECT_EQ(refused.error, "dev.genv.Error.DeviceUnavailable");
    EXPECT_EQ(refused.text, "Device 0 is not available: 37 GiB in use by no process");
    EXPECT_TRUE(asAlice->environment(id, "Attach", "a{sv}", 1, "index", "u", 1U).ok());
}

// Devices that share the memory of the machine.
class UnifiedDevices : public BusTest {
  protected:
    UnifiedDevices()
        : BusTest({{"GENV_MOCK_DEVICE_COUNT", "1"}, {"GENV_MOCK_DEVICE_TOTAL_MEMORY", "unified"}}) {
    }
    std::string device(const char* name) {
        return asBob->property(devicePath(0), deviceInterface, name);
    }
};

TEST_F(UnifiedDevices, HaveTheMachinesMemoryAndNoReadingOfIt) {
    EXPECT_GT(std::stoull(device("TotalMemory")), 0U);
    EXPECT_LT(std::stoull(device("TotalMemory")), 1ULL << 50U);
    EXPECT_EQ(device("UsedMemory"), "18446744073709551615");
    EXPECT_EQ(device("Free"), "1");
}

TEST_F(UnifiedDevices, HaveTheMemoryThatTheConfigurationSays) {
    std::ofstream(Service::configurationFolder() / "genvd.conf")
        << "[GPU]\nUnifiedMemory=64g\n[Enforcement]\nInterval=1s\n";
    ASSERT_TRUE(asRoot->manager("Reload").ok());
    waitUntil([&] { return device("TotalMemory") == "64000000000"; }, "the next sample");
    const UserProcess first(alice);
    const UserProcess second(bob);
    const auto share = [](Client& client, const UserProcess& shell) {
        const auto call = client.start(managerPath, managerInterface, "Activate", "a{sv}", 3, "pid",
                                       "u", shell.pid(), "gpus", "u", 1U, "gpu-memory", "s", "40g");
        return client.finish(*call).error;
    };
    EXPECT_EQ(share(*asAlice, first), "");
    EXPECT_EQ(device("AvailableMemory"), "24000000000") << "by the granted shares";
    EXPECT_EQ(share(*asBob, second), "dev.genv.Error.DeviceUnavailable");
}

} // namespace
} // namespace genv::tests
