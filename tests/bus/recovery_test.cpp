// SPDX-License-Identifier: LGPL-2.1-or-later
// The service is killed, or loses its bus, its disk or its driver. Users keep the devices that they
// hold, and nobody else gets them.
#include "tests/bus/support/fixture.hpp"
#include "tests/bus/support/queue.hpp"

#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <random>
#include <set>

namespace genv::tests {
namespace {

class Recovery : public BusTest {
  protected:
    Recovery() : BusTest({{"GENV_MOCK_DEVICE_COUNT", "8"}}) {}
    explicit Recovery(std::map<std::string, std::string> variables)
        : BusTest(std::move(variables)) {}

    struct Held {
        std::string environment;
        std::uint64_t since = 0;
        friend bool operator==(const Held&, const Held&) = default;
    };
    /// Returns the holder of each device. A device with two holders fails the test.
    std::map<std::uint32_t, Held> holders() {
        std::map<std::uint32_t, Held> held;
        const Answer answer = asRoot->manager("ListAttachments");
        sd_bus_message* message = answer.message.get();
        sd_bus_message_enter_container(message, 'a', "(usstt)");
        std::uint32_t device = 0;
        const char* environment = nullptr;
        const char* name = nullptr;
        std::uint64_t share = 0;
        std::uint64_t since = 0;
        while (sd_bus_message_read(message, "(usstt)", &device, &environment, &name, &share,
                                   &since) > 0)
            EXPECT_TRUE(held.emplace(device, Held{environment, since}).second)
                << "device " << device << " twice";
        return held;
    }
};

TEST_F(Recovery, KeepsEverythingOverARestart) {
    const UserProcess alices(alice);
    const UserProcess bobs(bob);
    const std::string his = activate(*asBob, bobs, 1);
    const std::string hers =
        asAlice
            ->manager("Activate", "a{sv}", 4, "pid", "u", alices.pid(), "gpus", "u", 2U,
                      "gpu-memory", "s", "4g", "name", "s", "Norwegian Wood")
            .readString();
    const auto before = holders();
    const auto describe = [&](const std::string& id) {
        std::string text;
        for (const char* property :
             {"Id", "Uid", "User", "Name", "Created", "Gpus", "GpuMemory", "Processes", "Devices"})
            text += asRoot->property(environmentPath(id), environmentInterface, property) + "|";
        return text;
    };
    const std::string his1 = describe(his);
    const std::string hers1 = describe(hers);
    for (const int signal : {SIGTERM, SIGKILL}) {
        const int status = service.end(signal);
        EXPECT_EQ(status, signal == SIGTERM ? 0 : 128 + SIGKILL);
        service.start();
        EXPECT_EQ(describe(his), his1);
        EXPECT_EQ(describe(hers), hers1);
        EXPECT_EQ(holders(), before);
    }
}

TEST_F(Recovery, EndsWhatEndedWhileItWasAway) {
    UserProcess alices(alice);
    const UserProcess bobs(bob);
    activate(*asAlice, alices, 1);
    const std::string his = activate(*asBob, bobs, 1);
    service.end(SIGKILL);
    alices.kill(SIGKILL);
    alices.wait();
    service.start();
    waitUntil([&] { return environmentCount() == "1"; },
              "a sample to say that nothing of alice's is left on the GPU");
    EXPECT_EQ(devicesOf(his), "1");
    const auto held = holders();
    EXPECT_EQ(held.size(), 1U);
}

// Alice and bob attach and detach without a pause while the service is killed fifty times, at any
// instant. If a call succeeded before the kill, its effect must persist after the kill. A call that
// was cut off may or may not have had its effect.
TEST_F(Recovery, LosesAndDoublesNothingWhenItIsKilledFiftyTimesAmidAttaches) {
    const UserProcess alices(alice);
    const UserProcess bobs(bob);
    const std::string ids[2] = {activate(*asAlice, alices), activate(*asBob, bobs)};
    Client* clients[2] = {asAlice.get(), asBob.get()};
    std::set<std::uint32_t> known[2]; // the state in the last answer
    bool certain[2] = {true, true};   // whether no later request was cut off
    std::mt19937 random(20'261'121);  // a fixed seed, so that every run is the same
    int answered = 0;
    int cutOff = 0;
    for (int round = 0; round < 50; ++round) {
        const int calls = static_cast<int>(random() % 12);
        std::vector<std::unique_ptr<PendingCall>> pending;
        for (int call = 0; call <= calls; ++call) {
            const auto who = static_cast<std::size_t>(random() % 2);
            const auto count = static_cast<std::uint32_t>(random() % 5);
            const auto attach = clients[who]->start(environmentPath(ids[who]), environmentInterface,
                                                    "Attach", "a{sv}", 1, "count", "u", count);
            if (call == calls) {
                // The last call is cut off at a random point, some round trips to the bus later.
                for (auto pings = random() % 20; pings > 0; --pings)
                    asRoot->ping();
                service.end(SIGKILL);
            }
            const Answer& answer = clients[who]->finish(*attach);
            certain[who] = answer.ok() || answer.error == error::deviceUnavailable;
            if (answer.ok()) {
                const auto list = answer.readUnsignedList();
                known[who] = {list.begin(), list.end()};
            }
            ++(certain[who] ? answered : cutOff);
        }
        service.start();
        std::set<std::uint32_t> held[2];
        for (const auto& [device, holder] : holders())
            held[holder.environment == ids[0] ? 0 : 1].insert(device);
        for (const std::size_t who : {0U, 1U}) {
            if (certain[who]) {
                ASSERT_EQ(held[who], known[who]) << "round " << round;
            }
            known[who] = held[who];
            certain[who] = true;
        }
        ASSERT_EQ(environmentCount(), "2") << "round " << round;
    }
    EXPECT_GT(cutOff, 0) << "no call was cut off, so this showed nothing";
    std::printf("50 kills: %d attaches were answered, %d cut off\n", answered, cutOff);
}

TEST_F(Recovery, StartsWhateverTheDocumentsHold) {
    const UserProcess shell(alice);
    const std::string id = activate(*asAlice, shell, 1);
    service.end(SIGKILL);
    std::ofstream(Service::stateFolder() / "_31.json") << "{\"version\":1,";
    std::ofstream(Service::stateFolder() / "_32.json") << "{\"version\":99}";
    std::ofstream(Service::stateFolder() / "evil\x1b[31m.json") << std::string(1 << 21, 'x');
    std::ofstream(Service::stateFolder() / "_33.json.new") << "half";
    service.start();
    EXPECT_EQ(devicesOf(id), "0");
    EXPECT_EQ(environmentCount(), "1");
    EXPECT_EQ(service.log().find('\x1b'), std::string::npos);
    EXPECT_TRUE(
        std::filesystem::exists(Service::stateFolder().parent_path() / "broken" / "_31.json"));
}

// The state folder becomes read-only: a request is refused and changes nothing; a fact applies and
// is written later.
TEST_F(Recovery, RefusesRequestsThatItCannotWriteAndAppliesFactsAllTheSame) {
    UserProcess alices(alice);
    const UserProcess bobs(bob);
    const std::string hers = activate(*asAlice, alices, 1);
    const std::string his = activate(*asBob, bobs);
    const std::string folder = Service::stateFolder();
    // A full disk: the service's files are on a file system without free space.
    service.end(SIGTERM);
    std::filesystem::rename(folder, folder + ".kept");
    std::filesystem::create_directory(folder);
    ASSERT_EQ(::mount("tmpfs", folder.c_str(), "tmpfs", 0, "size=16k,mode=700"), 0);
    for (const auto& entry : std::filesystem::directory_iterator(folder + ".kept"))
        std::filesystem::copy(entry.path(),
                              std::filesystem::path(folder) / entry.path().filename());
    service.start();
    {
        std::ofstream ballast(folder + "/ballast");
        ballast << std::string(1 << 16, 'x');
    }
    const Answer refused = asBob->environment(his, "Attach", "a{sv}", 1, "count", "u", 2U);
    EXPECT_EQ(refused.error, "org.freedesktop.DBus.Error.IOError");
    EXPECT_NE(refused.text.find("No space left on device"), std::string::npos);
    EXPECT_EQ(devicesOf(his), "");
    alices.kill(SIGKILL);
    waitUntil([&] { return environmentCount() == "1"; }, "alice's environment to end");
    EXPECT_TRUE(holders().empty());
    std::filesystem::remove(folder + "/ballast");
    EXPECT_TRUE(asBob->environment(his, "Attach", "a{sv}", 1, "count", "u", 2U).ok());
    service.end(SIGTERM);
    ::umount2(folder.c_str(), MNT_DETACH);
}

TEST_F(Recovery, EndsWithAFailureWhenItsBusGoes) {
    control("restart-bus");
    EXPECT_EQ(service.wait(), 1) << "so that it is started again";
    EXPECT_NE(service.log().find("the connection to the bus was lost"), std::string::npos);
    service.start();
}

// -- the driver

class Driver : public Recovery {
  protected:
    Driver() {
        service.end(SIGTERM);
        std::ofstream(Service::configurationFolder() / "genvd.conf") << "[GPU]\nBackend=nvml\n";
        service.set("LD_LIBRARY_PATH", GENV_TEST_FAKE_NVML_FOLDER);
        service.set("GENV_FAKE_NVML", driver);
        machine(both);
        service.start();
    }
    void machine(const std::string& json) const {
        std::ofstream(driver + ".new") << json;
        std::filesystem::rename(driver + ".new", driver);
    }
    static std::string listing(const std::vector<std::string>& uuids) {
        std::string devices;
        for (const std::string& uuid : uuids)
            devices += (devices.empty() ? "" : ",") + std::string(R"({"uuid":")") + uuid +
                       R"(","name":"NVIDIA A100","memory":{"total":16000000000,"used":1000}})";
        return R"({"devices":[)" + devices + "]}";
    }
    // Takes a sample that is less than a second old.
    Answer look() { return asRoot->manager("Snapshot"); }
    /// Makes the driver hang, and returns a listing that waits for the driver.
    std::unique_ptr<PendingCall> hang();
    void crashes();

    const std::string both = listing({"GPU-a", "GPU-b"});
    const std::string driver = (Service::configurationFolder() / "driver.json").string();
};

std::unique_ptr<PendingCall> Driver::hang() {
    machine(R"({"faults":{"*":"hang"}})");
    std::unique_ptr<PendingCall> listing;
    // A listing may use the current sample for up to a second. After that it stays unanswered,
    // whatever other requests come meanwhile.
    waitUntil(
        [&] {
            listing = asAlice->start(managerPath, managerInterface, "ListProcesses");
            for (int i = 0; i < 500; ++i)
                EXPECT_TRUE(asAlice->call(managerPath, "org.freedesktop.DBus.Peer", "Ping").ok());
            while (sd_bus_process(asAlice->bus(), nullptr) > 0) {
            }
            return !listing->answered;
        },
        "the driver to hang");
    return listing;
}

TEST_F(Driver, ThatHangsHoldsUpNothingElse) {
    const UserProcess shell(alice);
    const std::string id = activate(*asAlice, shell, 2);
    const std::unique_ptr<PendingCall> listing = hang();
    EXPECT_TRUE(asAlice->environment(id, "Detach", "au", 1, 1U).ok());
    EXPECT_FALSE(listing->answered) << "the driver still hangs, and everything else was served";
    EXPECT_EQ(asAlice->finish(*listing).error, "org.freedesktop.DBus.Error.Timeout");
    EXPECT_EQ(devicesOf(id), "0");
    EXPECT_EQ(asRoot->property(devicePath(0), deviceInterface, "Health"), "stale");
    EXPECT_EQ(asRoot->manager("Enforce", "a{sv}", 0).error, "org.freedesktop.DBus.Error.Timeout");
    EXPECT_EQ(asRoot->manager("Execute", "s", "{}").error, "org.freedesktop.DBus.Error.Timeout");
    machine(both);
    waitUntil([&] { return look().ok(); }, "the driver to answer");
    EXPECT_EQ(asRoot->property(devicePath(0), deviceInterface, "Health"), "ok");
}

TEST_F(Driver, ThatCrashesIsToldToTheHoldersOfItsDevices) {
    const UserProcess shell(alice);
    const std::string id = activate(*asAlice, shell, 1);
    const RecordedSignals signals(*asAlice);
    machine(R"({"faults":{"*":"crash"}})");
    waitUntil([&] { return look().error == "org.freedesktop.DBus.Error.Timeout"; },
              "the driver to crash");
    asAlice->processUntil([&] { return signals.notice("device-health") != nullptr; }, "the notice");
    const auto& notice = *signals.notice("device-health");
    EXPECT_EQ(notice.uid, alice);
    EXPECT_EQ(notice.environment, id);
    EXPECT_EQ(notice.details.at("health"), "stale");
}

void Driver::crashes() {
    const UserProcess shell(alice);
    const std::string id = activate(*asAlice, shell, 2);
    machine(R"({"faults":{"*":"crash"}})");
    waitUntil([&] { return look().error == "org.freedesktop.DBus.Error.Timeout"; },
              "the driver to crash");
    EXPECT_EQ(devicesOf(id), "0,1");
    service.restart(SIGKILL);
    EXPECT_EQ(devicesOf(id), "0,1") << "also over a restart while it crashes";
    machine(both);
    waitUntil([&] { return look().ok(); }, "the driver to answer");
    EXPECT_EQ(devicesOf(id), "0,1");
}

TEST_F(Driver, ThatCrashesLosesNothing) {
    crashes();
}

// As in the systemd units: one helper for each connection, which the service cannot end.
class DriverBehindASocket : public Driver {
  protected:
    DriverBehindASocket() {
        service.end(SIGTERM);
        service.addArgument("--nvml-socket=" + socket);
        listen();
        service.start();
    }
    ~DriverBehindASocket() override { stopListening(); }

    void listen() {
        unit_ = ::fork();
        if (unit_ == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            ::setenv("LD_LIBRARY_PATH", GENV_TEST_FAKE_NVML_FOLDER, 1);
            ::setenv("GENV_FAKE_NVML", driver.c_str(), 1);
            ::execlp("systemd-socket-activate", "systemd-socket-activate", "--accept", "--inetd",
                     "-E", "LD_LIBRARY_PATH", "-E", "GENV_FAKE_NVML", "--listen", socket.c_str(),
                     GENV_TEST_GENV_NVML, "--time-limit=20", nullptr);
            ::_exit(127);
        }
        waitUntil([&] { return isListening(); }, "the socket");
    }
    /// Returns whether the socket accepts connections. The file exists before that, and a
    /// connection as a check would start a helper.
    bool isListening() const {
        std::ifstream sockets("/proc/net/unix");
        for (std::string line; std::getline(sockets, line);)
            if (line.ends_with(" " + socket) && line.find(" 00010000 ") != std::string::npos)
                return true;
        return false;
    }
    void stopListening() const {
        ::kill(unit_, SIGKILL);
        ::waitpid(unit_, nullptr, 0);
        std::filesystem::remove(socket);
    }

    const std::string socket = (Service::configurationFolder() / "nvml.sock").string();

  private:
    pid_t unit_ = -1;
};

TEST_F(DriverBehindASocket, ThatHangsHoldsUpNothingElse) {
    const UserProcess shell(alice);
    const std::string id = activate(*asAlice, shell, 2);
    const std::unique_ptr<PendingCall> listing = hang();
    EXPECT_TRUE(asAlice->environment(id, "Detach", "au", 1, 1U).ok());
    EXPECT_FALSE(listing->answered) << "the driver still hangs, and everything else was served";
    EXPECT_EQ(asAlice->finish(*listing).error, "org.freedesktop.DBus.Error.Timeout");
    EXPECT_EQ(asRoot->property(devicePath(0), deviceInterface, "Health"), "stale");
    machine(both);
    waitUntil([&] { return look().ok(); }, "the driver to answer");
    EXPECT_EQ(devicesOf(id), "0");
}

TEST_F(DriverBehindASocket, ThatCrashesLosesNothing) {
    crashes();
}

TEST_F(DriverBehindASocket, WithoutItsSocketKeepsItsDevicesAndIsSaidOnce) {
    const UserProcess shell(alice);
    const std::string id = activate(*asAlice, shell, 2);
    machine(R"({"faults":{"*":"crash"}})"); // its connection ends with it
    stopListening();
    waitUntil(
        [&] {
            look();
            return service.log().find("cannot be reached") != std::string::npos;
        },
        "the socket to be missed");
    for (int i = 0; i < 3; ++i)
        EXPECT_EQ(look().error, "org.freedesktop.DBus.Error.Timeout");
    const std::string log = service.log();
    const std::string line =
        "genvd: the GPU driver does not answer: genv-nvml cannot be reached at " + socket +
        ": No such file or directory; check that its socket unit runs";
    EXPECT_NE(log.find(line), std::string::npos) << log;
    EXPECT_EQ(log.find(line), log.rfind(line)) << "once";
    EXPECT_EQ(devicesOf(id), "0,1");
    EXPECT_EQ(asRoot->property(devicePath(0), deviceInterface, "Health"), "stale");
    machine(both);
    listen();
    waitUntil([&] { return look().ok(); }, "the driver to answer");
    EXPECT_EQ(asRoot->property(devicePath(0), deviceInterface, "Health"), "ok");
}

TEST_F(Driver, ThatOmitsADeviceDetachesItAndTellsItsHolder) {
    const UserProcess shell(alice);
    const std::string id = activate(*asAlice, shell, 2);
    std::string reason;
    const Slot slot =
        asAlice->listen("type='signal',interface='dev.genv.Manager',member='Detached'",
                        [&](sd_bus_message* message) {
                            const char* environment = nullptr;
                            std::uint32_t device = 0;
                            const char* text = nullptr;
                            sd_bus_message_read(message, "sus", &environment, &device, &text);
                            reason = text;
                        });
    machine(listing({"GPU-a"}));
    waitUntil(
        [&] {
            look();
            return devicesOf(id) == "0";
        },
        "the device to go");
    asAlice->processUntil([&] { return !reason.empty(); }, "the signal");
    EXPECT_EQ(reason, "device-lost");
    EXPECT_EQ(asRoot->property(managerPath, managerInterface, "DeviceCount"), "1");
    machine(listing({"GPU-a", "GPU-c"}));
    waitUntil(
        [&] {
            look();
            return asRoot->property(managerPath, managerInterface, "DeviceCount") == "2";
        },
        "the new device");
    EXPECT_EQ(asRoot->property(devicePath(1), deviceInterface, "UUID"), "GPU-c");
}

TEST_F(Driver, ThatOmitsADeviceTakesItsObjectAlong) {
    bool isRemoved = false;
    const Slot removals =
        asAlice->listen("type='signal',interface='org.freedesktop.DBus.ObjectManager',member="
                        "'InterfacesRemoved',arg0path='" +
                            devicePath(1) + "'",
                        [&](sd_bus_message*) { isRemoved = true; });
    machine(listing({"GPU-a"}));
    waitUntil(
        [&] {
            look();
            return asRoot->property(managerPath, managerInterface, "DeviceCount") == "1";
        },
        "the device to go");
    asAlice->processUntil([&] { return isRemoved; }, "the signal");
    EXPECT_EQ(asAlice->property(devicePath(1), deviceInterface, "UUID"),
              "org.freedesktop.DBus.Error.UnknownObject");
}

} // namespace
} // namespace genv::tests
