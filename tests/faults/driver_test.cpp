// SPDX-License-Identifier: LGPL-2.1-or-later
// The driver crashes in every function, returns impossible data, and loses devices that users hold,
// lock and wait for.
#include "tests/bus/support/queue.hpp"
#include "tests/faults/fixture.hpp"

#include <unistd.h>

namespace genv::tests {
namespace {

class Gpus : public FaultTest {
  protected:
    Gpus() {
        service.end(SIGTERM);
        std::ofstream(Service::configurationFolder() / "genvd.conf") << "[GPU]\nBackend=nvml\n";
        service.set("LD_LIBRARY_PATH", GENV_TEST_FAKE_NVML_FOLDER);
        service.set("GENV_FAKE_NVML", driver);
        machine(four);
        service.start();
    }
    void machine(const std::string& json) const {
        std::ofstream(driver + ".new") << json;
        std::filesystem::rename(driver + ".new", driver);
    }
    static std::string listing(const std::string& letters, const std::string& more = "") {
        std::string devices;
        for (const char letter : letters)
            devices += (devices.empty() ? "" : ",") + std::string(R"({"uuid":"GPU-)") + letter +
                       R"(","name":"NVIDIA A100","memory":{"total":16000000000,"used":1000}})";
        return R"({"devices":[)" + devices + "]" + more + "}";
    }
    // Takes a fresh sample of the GPUs: to the service, its previous sample is older than the call.
    Answer look() {
        injector.setBoot(ahead += std::chrono::seconds{2});
        return asRoot->manager("Snapshot");
    }
    void awaitDevices(const std::string& id, const std::string& devices) {
        waitUntil(
            [&] {
                look();
                return devicesOf(id) == devices;
            },
            "the devices");
    }
    std::string deviceCount() {
        return asRoot->property(managerPath, managerInterface, "DeviceCount");
    }

    const std::string four = listing("abcd");
    const std::string driver = (Service::configurationFolder() / "driver.json").string();
    std::chrono::seconds ahead{0};
    UserProcess alices{alice};
    UserProcess bobs{bob};
};

// The NVML functions that genv-nvml calls.
constexpr const char* entryPoints[] = {
    "nvmlInit_v2",
    "nvmlDeviceGetCount_v2",
    "nvmlDeviceGetHandleByIndex_v2",
    "nvmlDeviceGetUUID",
    "nvmlDeviceGetName",
    "nvmlDeviceGetMigMode",
    "nvmlDeviceGetMemoryInfo_v2",
    "nvmlDeviceGetUtilizationRates",
    "nvmlDeviceGetTemperature",
    "nvmlDeviceGetPowerUsage",
    "nvmlDeviceGetEnforcedPowerLimit",
    "nvmlDeviceGetPciInfo_v3",
    "nvmlSystemGetDriverVersion",
    "nvmlDeviceGetComputeRunningProcesses_v3",
    "nvmlDeviceGetMPSComputeRunningProcesses_v3",
    "nvmlEventSetCreate",
    "nvmlDeviceRegisterEvents",
    "nvmlEventSetWait_v2",
    "nvmlEventSetFree",
    "nvmlShutdown",
    "nvmlErrorString",
};

TEST_F(Gpus, WhoseDriverCrashesWhereverItIsAskedStayWithTheirHolders) {
    const std::string hers = activate(*asAlice, alices, 4);
    int crashed = 0;
    for (const char* function : entryPoints) {
        SCOPED_TRACE(function);
        machine(listing("abcd", R"(,"faults":{")" + std::string(function) + R"(":"crash"})"));
        // A function that is called only at the start is not called until the helper is restarted.
        const bool atStart = std::string(function) == "nvmlInit_v2";
        if (atStart)
            service.restart(SIGKILL);
        const Answer answer = look();
        crashed += answer.ok() ? 0 : 1;
        EXPECT_EQ(devicesOf(hers), "0,1,2,3");
        EXPECT_TRUE(asAlice->environment(hers, "Configure", "a{sv}as", 0, 0).ok());
        machine(four);
        waitUntil([&] { return look().ok(); }, "the driver to answer");
        EXPECT_EQ(devicesOf(hers), "0,1,2,3");
    }
    EXPECT_GT(crashed, 6) << "the driver is not asked like this any more";
    std::printf("crashed in %d of its functions\n", crashed);
}

// Each function that hangs takes the whole timeout of an answer, so a few of them represent all.
TEST_F(Gpus, WhoseDriverHangsWhereverItIsAskedHoldUpNobody) {
    const std::string hers = activate(*asAlice, alices, 4);
    const std::size_t step = isFull() ? 1 : 7;
    int hung = 0;
    for (std::size_t i = 2; i < std::size(entryPoints); i += step) {
        const std::string function = entryPoints[i];
        SCOPED_TRACE(function);
        machine(listing("abcd", R"(,"faults":{")" + function + R"(":"hang"})"));
        injector.setBoot(ahead += std::chrono::seconds{2});
        const auto looking = asRoot->start(managerPath, managerInterface, "Snapshot", "");
        EXPECT_TRUE(asAlice->environment(hers, "Configure", "a{sv}as", 0, 0).ok());
        EXPECT_TRUE(asBob->manager("ListDevices").ok());
        const Answer& answer = asRoot->finish(*looking);
        if (!answer.ok()) {
            ++hung;
            EXPECT_EQ(answer.error, "org.freedesktop.DBus.Error.Timeout");
        }
        EXPECT_EQ(devicesOf(hers), "0,1,2,3");
        machine(four);
        waitUntil([&] { return look().ok(); }, "the driver to answer");
        EXPECT_EQ(devicesOf(hers), "0,1,2,3");
    }
    EXPECT_GT(hung, 0) << "the driver is not asked like this any more";
    std::printf("hung in %d of its functions\n", hung);
}

TEST_F(Gpus, ThatCannotBeAreNotBelieved) {
    const std::string hers = activate(*asAlice, alices, 4);
    const std::string huge = "18446744073709551615";
    for (const std::string& device : {
             R"("name":"x","memory":{"total":)" + huge + R"(,"used":)" + huge + "}",
             R"("name":")" + std::string(90, 'y') + R"(","memory":{"total":0,"used":)" + huge + "}",
             std::string(R"("name":"\u001b[31m\n","memory":{"total":1,"used":2},"temperature":)") +
                 "-2000000000,\"power\":4294967295,\"utilization\":4294967295",
         }) {
        machine(R"({"devices":[{"uuid":"GPU-a",)" + device + "}]}");
        look();
        EXPECT_TRUE(asAlice->manager("ListDevices").ok());
        EXPECT_FALSE(service.hasEnded());
        // The sums of shares do not overflow.
        asBob->manager("Activate", "a{sv}", 3, "pid", "u", bobs.pid(), "gpus", "u", 1U,
                       "gpu-memory", "t", std::uint64_t{1} << 63);
        asBob->manager("Activate", "a{sv}", 4, "pid", "u", bobs.pid(), "gpus", "u", 1U,
                       "gpu-memory", "t", ~std::uint64_t{0}, "over-subscribe", "b", 1);
        EXPECT_FALSE(service.hasEnded());
        service.restart(SIGKILL);
    }
    EXPECT_EQ(service.log().find('\x1b'), std::string::npos);
    EXPECT_FALSE(describe(hers).empty()) << "it lives on, with or without devices";
}

TEST_F(Gpus, WhoseDriverHangsAtTheStartAreServedAsTheyWere) {
    const std::string hers = activate(*asAlice, alices, 2);
    machine(listing("abcd", R"(,"faults":{"*":"hang"})"));
    service.end(SIGKILL);
    const std::size_t before = service.log().size();
    service.start();
    EXPECT_EQ(service.log().substr(before).find("does not answer"), std::string::npos)
        << "nobody waits for as long as the driver may take";
    EXPECT_EQ(devicesOf(hers), "0,1");
    EXPECT_TRUE(asAlice->environment(hers, "Detach", "au", 1, 1U).ok());
}

// A driver without an answer does not mean a machine without GPUs.
TEST_F(Gpus, WhoseDriverIsUnloadedOrFailsStayWithTheirHolders) {
    const std::string hers = activate(*asAlice, alices, 3);
    constexpr int notLoaded = 9;
    constexpr int unknown = 999;
    for (const auto& [function, result] :
         {std::pair("nvmlInit_v2", notLoaded), std::pair("nvmlInit_v2", unknown),
          std::pair("nvmlDeviceGetCount_v2", unknown)}) {
        SCOPED_TRACE(std::string(function) + " gives " + std::to_string(result));
        // A function that is called only at the start is not called until the helper is restarted.
        machine(listing("abcd", R"(,"faults":{"*":"crash"})"));
        waitUntil([&] { return !look().ok(); }, "the crash to be seen");
        machine(listing("abcd", R"(,"faults":{")" + std::string(function) +
                                    "\":" + std::to_string(result) + "}"));
        for (int i = 0; i < 2; ++i)
            EXPECT_EQ(look().error, "org.freedesktop.DBus.Error.Timeout");
        EXPECT_EQ(devicesOf(hers), "0,1,2");
        EXPECT_EQ(asRoot->property(devicePath(0), deviceInterface, "Health"), "stale");
        machine(four);
        waitUntil([&] { return look().ok(); }, "the driver to answer");
        EXPECT_EQ(devicesOf(hers), "0,1,2");
    }
}

TEST_F(Gpus, ThatVanishAtOnceAreTakenFromTheirHoldersAndComeBackFree) {
    const std::string hers = activate(*asAlice, alices, 3);
    const std::string his = activate(*asBob, bobs, 1);
    RecordedSignals signals(*asCarol);
    machine(listing("a"));
    awaitDevices(hers, "0");
    EXPECT_EQ(devicesOf(his), "");
    asCarol->processUntil([&] { return signals.detached.size() >= 3; }, "the signals");
    EXPECT_EQ(std::count_if(signals.detached.begin(), signals.detached.end(),
                            [](const std::string& text) {
                                return text.find("device-lost") != std::string::npos;
                            }),
              3);
    EXPECT_FALSE(alices.hasEnded() || bobs.hasEnded());
    machine(four);
    waitUntil(
        [&] {
            look();
            return deviceCount() == "4";
        },
        "the devices to come back");
    EXPECT_EQ(devicesOf(hers), "0") << "nobody gets back what was lost";
    EXPECT_TRUE(asBob->environment(his, "Attach", "a{sv}", 1, "count", "u", 3U).ok());
    EXPECT_EQ(devicesOf(his), "1,2,3");
}

// A list of all objects is answered even while some objects are removed.
TEST_F(Gpus, ThatVanishFailNobodysListOfObjects) {
    for (int round = 0; round < 10; ++round) {
        for (const std::string letters : {"a", "abcd"}) {
            machine(listing(letters));
            injector.setBoot(ahead += std::chrono::seconds{2});
            const auto looking = asCarol->start(managerPath, managerInterface, "Snapshot", "");
            std::vector<std::unique_ptr<PendingCall>> lists;
            for (int i = 0; i < 100; ++i)
                lists.push_back(asRoot->start(managerPath, "org.freedesktop.DBus.ObjectManager",
                                              "GetManagedObjects"));
            for (const auto& list : lists) {
                const Answer& answer = asRoot->finish(*list);
                EXPECT_TRUE(answer.ok()) << answer.text;
            }
            EXPECT_TRUE(asCarol->finish(*looking).ok());
            EXPECT_EQ(deviceCount(), std::to_string(letters.size()));
        }
    }
}

TEST_F(Gpus, ThatAllVanishLeaveEnvironmentsWithoutAndServiceGoesOn) {
    const std::string hers = activate(*asAlice, alices, 2);
    machine(listing(""));
    awaitDevices(hers, "");
    EXPECT_EQ(deviceCount(), "0");
    EXPECT_EQ(asAlice->environment(hers, "Attach", "a{sv}", 1, "count", "u", 1U).error,
              error::notEnoughDevices);
    service.restart(SIGKILL);
    EXPECT_FALSE(describe(hers).empty());
    machine(four);
    waitUntil(
        [&] {
            look();
            return deviceCount() == "4";
        },
        "the devices to come back");
    EXPECT_TRUE(asAlice->environment(hers, "Attach", "a{sv}", 1, "count", "u", 2U).ok());
}

TEST_F(Gpus, ThatVanishEndTheirLocksAndNotThePlacesOfThoseWhoWait) {
    const std::string hers = activate(*asAlice, alices, 4);
    const std::string his = activate(*asBob, bobs);
    const auto lock = asAlice->start(environmentPath(hers), environmentInterface, "Lock");
    ASSERT_TRUE(asAlice->finish(*lock).ok());
    EXPECT_EQ(asRoot->property(devicePath(3), deviceInterface, "LockedBy"), hers);
    const auto waiting = asBob->start(environmentPath(his), environmentInterface, "Attach", "a{sv}",
                                      2, "count", "u", 1U, "wait", "b", 1);
    const UserProcess carols(carol);
    const std::string carolsId = activate(*asCarol, carols);
    const auto hopeless = asCarol->start(environmentPath(carolsId), environmentInterface, "Attach",
                                         "a{sv}", 2, "index", "u", 3U, "wait", "b", 1);
    waitUntil([&] { return queueOf(*asRoot).size() == 2; }, "bob and carol to wait");
    machine(listing("abc"));
    awaitDevices(hers, "0,1,2");
    EXPECT_EQ(asCarol->finish(*hopeless).error, error::noSuchDevice) << "it is told so";
    EXPECT_FALSE(waiting->answered);
    machine(four);
    waitUntil(
        [&] {
            look();
            return deviceCount() == "4";
        },
        "the device to come back");
    EXPECT_TRUE(asBob->finish(*waiting).ok()) << "it came back, and is nobody's";
    EXPECT_EQ(devicesOf(his), "3");
    EXPECT_EQ(asRoot->property(devicePath(3), deviceInterface, "LockedBy"), "");
    EXPECT_EQ(asRoot->property(devicePath(0), deviceInterface, "LockedBy"), hers);
}

// No process can be started for the driver. The effect is the same as with a driver that hangs.
TEST_F(Gpus, AreStaleWhileNoProcessCanBeStartedAndWellAfter) {
    const std::string hers = activate(*asAlice, alices, 2);
    injector.arm(spawnCalls, FaultAction::Fail, 1, EAGAIN, 0);
    machine(listing("abcd", R"(,"faults":{"*":"crash"})"));
    waitUntil([&] { return !look().ok() && injector.fired() > 0; }, "a start that fails");
    EXPECT_EQ(look().error, "org.freedesktop.DBus.Error.Timeout");
    EXPECT_EQ(devicesOf(hers), "0,1");
    EXPECT_EQ(asRoot->property(devicePath(0), deviceInterface, "Health"), "stale");
    EXPECT_TRUE(asAlice->environment(hers, "Detach", "au", 1, 1U).ok());
    machine(four);
    injector.disarm();
    waitUntil([&] { return look().ok(); }, "the driver to answer");
    EXPECT_EQ(asRoot->property(devicePath(0), deviceInterface, "Health"), "ok");
}

} // namespace
} // namespace genv::tests
