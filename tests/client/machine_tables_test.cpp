// SPDX-License-Identifier: LGPL-2.1-or-later
// The tables of devices and environments at the widths of terminals: unknown readings, processes
// outside genv, MIG instances, wide characters, and a driver that does not answer.
#include "client/genvctl/reports/device_listing.hpp"
#include "client/genvctl/reports/environment_table.hpp"
#include "client/genvctl/terminal/terminal_text.hpp"

#include <gtest/gtest.h>

#include <sstream>

namespace genv::ctl {
namespace {

constexpr std::uint64_t gibibyte = std::uint64_t{1} << 30U;

ProcessDescription processOf(std::uint32_t pid, const std::string& user,
                             std::optional<std::string> environment, const ProcessUse& use) {
    return {pid, 1001, user, std::move(environment), "python3", {use}, {}};
}

// Two GPUs and a MIG instance. Alice holds the first GPU in an environment whose name has wide
// characters.
class MachineTables : public testing::Test {
  protected:
    MachineTables() {
        add({0, "GPU-0", "NVIDIA A100-SXM4-80GB", 80 * gibibyte}, 12 * gibibyte, 93, 61);
        add({1, "GPU-1", "NVIDIA A100-SXM4-80GB", 80 * gibibyte}, 0, 0, 35);
        add({8, "MIG-8", "NVIDIA A100-SXM4-80GB MIG 1g.10gb", 10 * gibibyte}, {}, {}, {});
        const Attachment held{0, "7", "木の名前", std::nullopt, {}};
        devices.held[0].attachments = {held};
        Environment environment;
        environment.id = "7";
        environment.uid = 1001;
        environment.user = "alice";
        environment.devices = {0};
        environment.expires = Time{std::chrono::hours{2}};
        machine.environments = {environment};
        list.entries = {{"7", 1001, "alice", "木の名前", {}, {1573}}};
        list.details["7"] = environment;
    }

    void add(const Device& device, std::optional<std::uint64_t> used,
             std::optional<std::uint32_t> utilization, std::optional<std::int32_t> temperature) {
        devices.held.push_back({device, {}});
        DeviceState state;
        state.device = device;
        state.health = "ok";
        state.usedMemoryBytes = used;
        state.sensors.utilizationPercent = utilization;
        state.sensors.temperatureCelsius = temperature;
        machine.devices.push_back(state);
    }

    // Returns the lines of a table on a terminal, and expects each to fit the width.
    static std::vector<std::string> lines(Table table, std::size_t width) {
        table.fit(width);
        std::istringstream text(table.text(true));
        std::vector<std::string> lines;
        for (std::string line; std::getline(text, line);) {
            EXPECT_LE(cells(line), width) << line;
            lines.push_back(line);
        }
        return lines;
    }
    std::vector<std::string> deviceLines(std::size_t width) {
        devices.details = deviceDetails(machine, processes);
        return lines(deviceTable(devices, options), width);
    }
    std::vector<std::string> environmentLines(std::size_t width) {
        list.memory = processes ? std::optional(memoryInUse(*processes)) : std::nullopt;
        return lines(environmentTable(list, options, Time{}), width);
    }

    [[nodiscard]] Json devicesJson() const {
        const MachineAnswers answers{machine, {}, processes};
        return MachineObjects(answers).devices();
    }

    Machine machine;
    DeviceList devices;
    EnvironmentList list;
    std::optional<std::vector<ProcessDescription>> processes = std::vector<ProcessDescription>{};
    ListingOptions options;
};

TEST_F(MachineTables, SayWhichMemoryNoProcessAccountsForAndWhatIsFree) {
    machine.devices[1].unaccountedMemoryBytes = 37 * gibibyte;
    machine.devices[2].isFree = true;
    devices.details = deviceDetails(machine, processes);
    std::string all;
    for (const std::string& line : lines(deviceTable(devices, options), 200))
        all += line + "\n";
    EXPECT_NE(all.find("37 GiB in use by no process"), std::string::npos) << all;
    const Json json = devicesJson();
    EXPECT_EQ(json[1]["free"], false);
    EXPECT_EQ(json[1]["unaccounted_memory_bytes"], 37 * gibibyte);
    EXPECT_EQ(json[2]["free"], true);
}

TEST_F(MachineTables, SayWhatIsOnLoanAndForWhomAnEnvironmentIsParked) {
    ASSERT_FALSE(devices.held.at(0).attachments.empty());
    const std::string holder = devices.held[0].attachments[0].environment;
    LoanStates& loans = devices.holders.loans;
    loans.preemptible = {holder, "70"};
    loans.parking["70"].takenBy = "bob";
    loans.parking["70"].state = "parked";
    loans.parking["70"].reason = "taken";
    loans.expected["70"] = currentTime();
    const std::string back = shortTimestamp(loans.expected["70"], currentTime());
    devices.holders.parked[0] = {{"70", "training", {}}};
    const auto rows = deviceLines(200);
    EXPECT_NE(rows.at(1).find(" (on loan)"), std::string::npos) << rows[1];
    EXPECT_NE(rows.at(2).find("70 "), std::string::npos) << rows[2];
    EXPECT_NE(rows.at(2).find("training"), std::string::npos) << rows[2];
    EXPECT_NE(rows.at(2).find("parked for bob, back about " + back), std::string::npos) << rows[2];
    list.loans = loans;
    list.entries = {{"70", 1001, "alice", std::nullopt, Time{}, {12}},
                    {holder, 1001, "alice", std::nullopt, Time{}, {13}}};
    const auto environments = environmentLines(200);
    const std::string day = shortTimestamp(loans.expected["70"], Time{});
    EXPECT_NE(environments.at(1).find("12 (parked for bob, back about " + day + ")"),
              std::string::npos)
        << environments[1];
    EXPECT_NE(environments.at(2).find("13 (preemptible)"), std::string::npos) << environments[2];
}

TEST_F(MachineTables, ShowAnUnknownTotalAsUnknown) {
    devices.held.clear();
    machine.devices.clear();
    add({0, "GPU-0", "NVIDIA GB10", 0}, {}, 5, 40);
    add({1, "GPU-1", "NVIDIA GB10", 128 * gibibyte}, {}, 5, 40);
    const auto rows = deviceLines(200);
    EXPECT_NE(rows.at(1).find("-/- GiB"), std::string::npos) << rows.at(1);
    EXPECT_NE(rows.at(2).find("-/128.0 GiB"), std::string::npos) << rows.at(2);
    EXPECT_EQ(devicesJson()[0]["total_memory_bytes"], nullptr);
    EXPECT_EQ(devicesJson()[0]["used_memory_bytes"], nullptr);
}

TEST_F(MachineTables, SayWhoHoldsWhatAndHowBusyItIs) {
    options.timestamp = true;
    const auto wide = deviceLines(200);
    ASSERT_EQ(wide.size(), 4U);
    EXPECT_NE(wide[1].find(" alice(1001) NVIDIA A100-SXM4-80GB  "), std::string::npos) << wide[1];
    EXPECT_TRUE(wide[1].ends_with(" 12.0/80.0 GiB 93%   61°C")) << wide[1];
    EXPECT_TRUE(wide[2].ends_with(" 0.0/80.0 GiB  0%    35°C")) << wide[2];
    EXPECT_TRUE(wide[3].ends_with(" -/10.0 GiB    -     -")) << wide[3];
    EXPECT_EQ(wide[0].find("OUTSIDE"), std::string::npos);
}

TEST_F(MachineTables, LeaveOutWhatDoesNotFit) {
    options.timestamp = false;
    EXPECT_EQ(deviceLines(40)[0], "ID ENV ID ENV NAME USER");
    EXPECT_EQ(deviceLines(80)[0],
              "ID ENV ID ENV NAME ATTACHED       USER        MEMORY        UTIL");
    const auto hundred = deviceLines(120);
    for (const char* title : {"USER", "MODEL", "MEMORY", "UTIL", "TEMP"})
        EXPECT_NE(hundred[0].find(title), std::string::npos) << hundred[0];
    EXPECT_EQ(environmentLines(40)[0], "ID USER        NAME     CREATED");
    EXPECT_EQ(environmentLines(80)[0],
              "ID USER        NAME     CREATED        PID(S) DEVICES LEASE ENDS MEMORY");
    EXPECT_EQ(environmentLines(120)[0],
              "ID      USER            NAME            CREATED              "
              "PID(S)      DEVICES   LEASE ENDS    MEMORY");
}

TEST_F(MachineTables, SayWhoUsesADeviceFromOutside) {
    processes = {processOf(4711, "bob", std::nullopt, {1, gibibyte, {}}),
                 processOf(4712, "bob", std::nullopt, {1, gibibyte, {}}),
                 processOf(4713, "bob", std::nullopt, {8, {}, {}}),
                 processOf(4714, "root", std::nullopt, {8, {}, {}}),
                 processOf(1573, "alice", "7", {0, gibibyte, {}})};
    const auto wide = deviceLines(200);
    EXPECT_EQ(wide[1].find("outside"), std::string::npos);
    EXPECT_TRUE(wide[2].ends_with(" in use by bob, outside genv")) << wide[2];
    EXPECT_TRUE(wide[3].ends_with(" in use by bob, root, outside genv")) << wide[3];
    const auto narrow = deviceLines(80);
    EXPECT_NE(narrow[2].find("in use by bob"), std::string::npos) << narrow[2];
}

TEST_F(MachineTables, AreThereWhereTheDriverDoesNotAnswer) {
    processes.reset();
    const auto wide = deviceLines(200);
    EXPECT_TRUE(wide[1].ends_with(" -/80.0 GiB    -     -     -")) << wide[1];
    EXPECT_TRUE(environmentLines(200)[1].ends_with(" -")) << environmentLines(200)[1];
}

TEST_F(MachineTables, HaveNoReadingsOfAStaleDevice) {
    machine.devices[0].health = "stale";
    EXPECT_NE(deviceLines(200)[1].find(" -/80.0 GiB    -     -"), std::string::npos);
}

TEST_F(MachineTables, SumMemoryOnlyWhereAllOfItIsKnown) {
    processes = {processOf(1573, "alice", "7", {0, gibibyte, {}}),
                 processOf(1574, "alice", "7", {0, gibibyte / 2, {}})};
    EXPECT_TRUE(environmentLines(200)[1].ends_with(" in 2h         1.5 GiB"))
        << environmentLines(200)[1];
    processes->push_back(processOf(1575, "alice", "7", {0, {}, {}}));
    EXPECT_TRUE(environmentLines(200)[1].ends_with(" in 2h         -"));
}

TEST_F(MachineTables, AreTheReferencesForPrograms) {
    options.format = "csv";
    options.timestamp = true;
    devices.details = deviceDetails(machine, processes);
    Table table = deviceTable(devices, options);
    table.leaveOutExtras();
    EXPECT_TRUE(table.csv(true).starts_with("ID,ENV ID,ENV NAME,ATTACHED\n0,7,木の名前,"));
    Table environments = environmentTable(list, options, Time{});
    environments.leaveOutExtras();
    EXPECT_TRUE(environments.csv(true).starts_with("ID,USER,NAME,CREATED,PID(S)\n"
                                                   "7,alice(1001),木の名前,"));
}

TEST_F(MachineTables, RepeatWhatIsAboutADeviceInEachRowForProgramsOnly) {
    devices.held[0].attachments.push_back({0, "8", std::nullopt, gibibyte, {}});
    options.wide = true;
    EXPECT_EQ(deviceLines(300)[2].find("93%"), std::string::npos);
    options.format = "csv";
    const std::string csv = deviceTable(devices, options).csv(false);
    EXPECT_NE(csv.find("93%", csv.find("93%") + 1), std::string::npos);
}

TEST_F(MachineTables, ShowNoTextThatATerminalObeys) {
    list.entries[0].name = "\x1b[2J";
    list.entries[0].user = "e\nvil";
    const auto wide = environmentLines(200);
    ASSERT_EQ(wide.size(), 2U);
    EXPECT_NE(wide[1].find("e\\x0avil(1001)"), std::string::npos);
    EXPECT_NE(wide[1].find("\\x1b[2J"), std::string::npos);
}

TEST_F(MachineTables, HaveAHeaderWithoutDevices) {
    devices = {};
    list = {};
    machine = {};
    EXPECT_EQ(deviceLines(120).size(), 1U);
    EXPECT_EQ(environmentLines(120).size(), 1U);
}

} // namespace
} // namespace genv::ctl
