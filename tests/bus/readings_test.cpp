// SPDX-License-Identifier: LGPL-2.1-or-later
// Reports on a machine and its use: readings of the last hour, the driver, and processes with names
// that users recognise.
#include "tests/bus/support/fixture.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>

namespace genv::tests {
namespace {

constexpr std::uint32_t unknown32 = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint64_t unknown64 = std::numeric_limits<std::uint64_t>::max();

// Two GPUs: one has every reading, the other none.
class Readings : public BusTest {
  protected:
    struct Row {
        std::uint32_t device = 0;
        std::uint64_t when = 0;
        std::uint64_t used = 0;
        std::uint32_t utilization = 0;
        std::int32_t temperature = 0;
        std::uint32_t power = 0;
    };

    Readings() {
        service.end(SIGTERM);
        std::ofstream(Service::configurationFolder() / "genvd.conf") << "[GPU]\nBackend=nvml\n";
        service.set("LD_LIBRARY_PATH", GENV_TEST_FAKE_NVML_FOLDER);
        service.set("GENV_FAKE_NVML", driver_);
        writeMachine("550.54.15", "00000000:65:00.0");
        service.start();
    }
    void writeMachine(const std::string& version, const std::string& pci,
                      const std::string& processes = "[]") const {
        std::ofstream(driver_ + ".new") << fmt::format(
            R"({{"driver":"{}","devices":[
                 {{"uuid":"GPU-a","name":"A100","pci":"{}","memory":{{"total":16000,"used":500}},
                   "utilization":93,"temperature":38,"power":250000,"power_limit":400000,
                   "processes":{}}},
                 {{"uuid":"GPU-b","name":"A100"}}]}})",
            version, pci, processes);
        std::filesystem::rename(driver_ + ".new", driver_);
    }

    std::vector<Row> readings(std::uint64_t since) {
        const Answer answer = asBob->manager("ListReadings", "t", since);
        EXPECT_TRUE(answer.ok()) << answer.text;
        std::vector<Row> rows;
        Row row;
        sd_bus_message* message = answer.message.get();
        sd_bus_message_enter_container(message, 'a', "(uttuiu)");
        while (sd_bus_message_read(message, "(uttuiu)", &row.device, &row.when, &row.used,
                                   &row.utilization, &row.temperature, &row.power) > 0)
            rows.push_back(row);
        return rows;
    }
    /// Takes a fresh sample, which every user may do.
    void look() { EXPECT_TRUE(asBob->manager("Snapshot").ok()); }

    struct Process {
        std::uint32_t pid = 0;
        std::uint32_t uid = 0;
        std::string user;
        std::string environment;
        std::string name;
        std::string devices; ///< "index:memory:percent" of each
        std::uint64_t started = 0;
    };
    static std::string usesIn(sd_bus_message* message) {
        std::string uses;
        std::uint32_t index = 0;
        std::uint64_t memory = 0;
        std::uint32_t percent = 0;
        sd_bus_message_enter_container(message, 'a', "(utu)");
        while (sd_bus_message_read(message, "(utu)", &index, &memory, &percent) > 0)
            uses += fmt::format("{}:{}:{} ", index, memory, percent);
        sd_bus_message_exit_container(message);
        return uses;
    }
    static Process readProcess(sd_bus_message* message) {
        Process process;
        while (sd_bus_message_enter_container(message, 'e', "sv") > 0) {
            const char* key = nullptr;
            const char* type = nullptr;
            const char* text = "";
            sd_bus_message_read(message, "s", &key);
            sd_bus_message_peek_type(message, nullptr, &type);
            sd_bus_message_enter_container(message, 'v', type);
            const std::string name = key;
            if (name == "devices")
                process.devices = usesIn(message);
            else if (name == "started")
                sd_bus_message_read(message, "t", &process.started);
            else if (name == "pid" || name == "uid")
                sd_bus_message_read(message, "u", name == "pid" ? &process.pid : &process.uid);
            else if (sd_bus_message_read(message, "s", &text) > 0)
                (name == "user"          ? process.user
                 : name == "environment" ? process.environment
                                         : process.name) = text;
            sd_bus_message_exit_container(message);
            sd_bus_message_exit_container(message);
        }
        return process;
    }
    std::map<std::uint32_t, Process> describe() {
        const Answer answer = asBob->manager("DescribeProcesses");
        EXPECT_TRUE(answer.ok()) << answer.text;
        std::map<std::uint32_t, Process> processes;
        sd_bus_message* message = answer.message.get();
        sd_bus_message_enter_container(message, 'a', "a{sv}");
        while (sd_bus_message_enter_container(message, 'a', "{sv}") > 0) {
            const Process process = readProcess(message);
            processes[process.pid] = process;
            sd_bus_message_exit_container(message);
        }
        return processes;
    }
    std::string device(const char* name) {
        return asBob->property(devicePath(0), deviceInterface, name);
    }
    std::string driverVersion() {
        return asBob->property(managerPath, managerInterface, "DriverVersion");
    }

    const std::string driver_ = (Service::configurationFolder() / "driver.json").string();
};

TEST_F(Readings, AreThereFromTheFirstSampleOn) {
    look();
    const std::vector<Row> rows = readings(0);
    ASSERT_EQ(rows.size(), 2U);
    EXPECT_EQ(rows[0].device, 0U);
    EXPECT_EQ(rows[0].used, 500U);
    EXPECT_EQ(rows[0].utilization, 93U);
    EXPECT_EQ(rows[0].temperature, 38);
    EXPECT_EQ(rows[0].power, 250'000U);
    EXPECT_EQ(rows[1].device, 1U);
    EXPECT_EQ(rows[1].when, rows[0].when);
    EXPECT_EQ(rows[1].utilization, unknown32);
    EXPECT_EQ(rows[1].temperature, std::numeric_limits<std::int32_t>::max());
    EXPECT_EQ(rows[1].power, unknown32);
    EXPECT_EQ(readings(rows[0].when - 1).size(), 2U);
    EXPECT_EQ(readings(rows[0].when).size(), 0U) << "only what is newer";
    EXPECT_EQ(readings(unknown64).size(), 0U);
}

TEST_F(Readings, AreNotTakenForWhoeverLooks) {
    look();
    const std::size_t before = readings(0).size();
    for (int i = 0; i < 5; ++i)
        look();
    EXPECT_EQ(readings(0).size(), before) << "ten seconds apart at the closest";
}

TEST_F(Readings, TellTheDriverAndWhereADeviceIs) {
    EXPECT_EQ(driverVersion(), "550.54.15");
    EXPECT_EQ(device("PCIAddress"), "0000:65:00.0");
    EXPECT_EQ(device("PowerLimit"), "400000");
    EXPECT_EQ(asBob->property(devicePath(1), deviceInterface, "PowerLimit"),
              std::to_string(unknown32));
    std::vector<std::string> changed;
    const Slot slot =
        asBob->listen("type='signal',member='PropertiesChanged'", [&](sd_bus_message* message) {
            const char* name = nullptr;
            sd_bus_message_skip(message, "s");
            sd_bus_message_enter_container(message, 'a', "{sv}");
            while (sd_bus_message_enter_container(message, 'e', "sv") > 0) {
                sd_bus_message_read(message, "s", &name);
                sd_bus_message_skip(message, "v");
                sd_bus_message_exit_container(message);
                changed.emplace_back(name);
            }
        });
    writeMachine("560.35.05", "00010000:AB:1F.0");
    waitUntil(
        [&] {
            look();
            return driverVersion() == "560.35.05";
        },
        "another driver");
    asBob->processUntil([&] { return changed.size() == 2; }, "both changes");
    std::sort(changed.begin(), changed.end());
    EXPECT_EQ(changed, (std::vector<std::string>{"DriverVersion", "PCIAddress"}));
    EXPECT_EQ(device("PCIAddress"), "10000:ab:1f.0");
}

TEST_F(Readings, DescribeProcessesAsPeopleKnowThem) {
    const UserProcess shell({.uid = alice, .compute = true, .hasChild = true});
    const std::string id = activate(*asAlice, shell);
    const UserProcess stranger({.uid = bob, .compute = true});
    writeMachine("1", "0:1:0",
                 fmt::format(R"([{{"pid":{},"memory":300,"utilization":[[1,60],[2,35]]}},
                                 {{"pid":{},"memory":null,"utilization":[]}}])",
                             shell.child(), stranger.pid()));
    std::map<std::uint32_t, Process> processes;
    waitUntil(
        [&] {
            processes = describe();
            return processes.size() == 2;
        },
        "two processes");
    const Process& hers = processes[shell.child()];
    EXPECT_EQ(hers.uid, alice);
    EXPECT_EQ(hers.user, "alice");
    EXPECT_EQ(hers.environment, id);
    EXPECT_EQ(hers.name, computeProcessName);
    EXPECT_EQ(hers.devices, "0:300:35 ");
    const Process& his = processes[stranger.pid()];
    EXPECT_EQ(his.user, "bob");
    EXPECT_EQ(his.environment, "");
    EXPECT_EQ(his.devices, fmt::format("0:{}:0 ", unknown64));
    const auto now = std::chrono::duration_cast<std::chrono::microseconds>(
        std::chrono::system_clock::now().time_since_epoch());
    EXPECT_LE(his.started, static_cast<std::uint64_t>(now.count()));
    EXPECT_GE(his.started, hers.started) << "it came later";
    EXPECT_EQ(describe()[stranger.pid()].started, his.started);
}

} // namespace
} // namespace genv::tests
