// SPDX-License-Identifier: LGPL-2.1-or-later
// genvd.conf is accepted as a whole, or refused with the file, the line and the permitted values.
#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "service/settings/settings_file.hpp"
#include "service/settings/settings_keys.hpp"
#include "tests/service/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <optional>
#include <tuple>

namespace genv::tests {
namespace {

using namespace std::chrono_literals;

class SettingsFile : public ::testing::Test {
  protected:
    core::Settings read() { return service::readSettings(folder.path()); }

    // Returns the error for a file with this text.
    std::string complaint(const std::string& text) {
        folder.write("genvd.conf", text);
        try {
            read();
        } catch (const core::Error& error) {
            EXPECT_EQ(error.code(), core::ErrorCode::InvalidArgs);
            std::string message = error.what();
            const std::string path = (folder.path() / "genvd.conf").string() + ":";
            EXPECT_EQ(message.substr(0, path.size()), path);
            return message.substr(path.size());
        }
        return "nothing";
    }

    TemporaryFolder folder;
};

TEST_F(SettingsFile, HasDefaultsWithoutAnyFile) {
    EXPECT_EQ(read(), core::Settings{});
    EXPECT_EQ(service::readSettings("/nonexistent"), core::Settings{});
}

TEST_F(SettingsFile, IsReadWithItsDropInsInOrder) {
    folder.write(
        "genvd.conf",
        "# a comment\n\n[GPU]\nBackend=simulated\nUnifiedMemory=64gi\n[Enforcement]\nInterval = "
        "1min\nKillAfter=5\n");
    folder.write("genvd.conf.d/20-late.conf", "[Enforcement]\nInterval=30s\n");
    folder.write("genvd.conf.d/10-early.conf", "[Enforcement]\nInterval=20s\nKillAfter=0\n");
    folder.write("genvd.conf.d/30-ignored.conf.bak", "nonsense");
    const core::Settings settings = read();
    EXPECT_EQ(settings.backend, core::Backend::Simulated);
    EXPECT_EQ(settings.unifiedMemory, core::Bytes{64ULL << 30U});
    EXPECT_EQ(settings.interval, 30s);
    EXPECT_EQ(settings.killAfter, 0s);
}

TEST_F(SettingsFile, SaysWhatChanged) {
    folder.write(
        "genvd.conf",
        "[GPU]\nUnifiedMemory=64gi\n[Enforcement]\nInterval=25h 1min\nEnvMemory=no\n[Limits]\n"
        "MaxGpuMemoryPerUser=8gi\nMaxLifetime=1d 1h 30min\n[User alice]\n"
        "MaxDevicesPerUser=infinity\n[Group students]\nIdleTimeout=90s\n");
    const core::Settings before;
    const core::Settings after = read();
    using Changes = std::vector<std::string>;
    EXPECT_EQ(
        service::settingsChanged(before, after),
        (Changes{"UnifiedMemory=64gi", "Interval=90060000ms", "EnvMemory=no",
                 "MaxGpuMemoryPerUser=8gi", "MaxLifetime=91800000ms",
                 "User.alice.MaxDevicesPerUser=infinity", "Group.students.IdleTimeout=1min30s"}));
    EXPECT_EQ(
        service::settingsChanged(after, before),
        (Changes{"UnifiedMemory=", "Interval=10s", "EnvMemory=yes", "MaxGpuMemoryPerUser=",
                 "MaxLifetime=", "User.alice.MaxDevicesPerUser=", "Group.students.IdleTimeout="}));
    EXPECT_EQ(service::settingsChanged(after, after), Changes{});
}

TEST_F(SettingsFile, ShipsWithItsDefaults) {
    core::Settings settings;
    service::readSettingsFile(GENV_CONF_FILE, settings);
    EXPECT_EQ(settings, core::Settings{});
}

TEST_F(SettingsFile, NamesTheLineOfWhatIsWrong) {
    EXPECT_EQ(complaint("[GPU]\nBackend=cuda\n"),
              "2: Backend: invalid value \"cuda\": expected auto, nvml or simulated");
    EXPECT_EQ(complaint("\n\n[Enforcement]\n\nInterval=soon\n"),
              "5: Interval: invalid time span \"soon\": expected a number and a unit, such as 30s, "
              "10min or 2h");
    EXPECT_EQ(complaint("[Enforcement]\nInterval=0\n"), "2: Interval: expected at least 1000ms");
    EXPECT_EQ(complaint("[Enforcement]\nIntervall=10s\n"),
              "2: unknown setting \"Intervall\" in [Enforcement]: expected one of Interval, "
              "NonEnvProcesses, "
              "EnvDevices, EnvMemory, Grace, KillAfter, IdleAction, Linger, KeepGrants, DryRun");
    EXPECT_EQ(complaint("[GPU]\nBackend=auto\n[Foo]\n"),
              "3: unknown section [Foo]: expected [GPU], [Enforcement], [Queue], "
              "[Isolation], [Slurm], [Parking], [Limits], [User NAME] or [Group NAME]");
    const std::string syntax =
        "this is neither a [Section], nor Key=Value, nor a comment that begins with #";
    EXPECT_EQ(complaint("[GPU]\nBackend\n"), "2: " + syntax);
    EXPECT_EQ(complaint("Backend=auto\n"), "1: " + syntax);
    EXPECT_EQ(complaint("[GPU\nBackend=auto\n"), "1: " + syntax);
    EXPECT_EQ(complaint("[GPU]\nBackend=\x1b[31m\n"),
              "2: Backend: invalid value \"\\x1b[31m\": expected auto, nvml or simulated");
}

TEST_F(SettingsFile, ReadsWhatStandsTwiceWhereItStandsLast) {
    folder.write("genvd.conf", "[Enforcement]\nInterval=soon\nGrace=1min\n[GPU]\n[Enforcement]\r\n"
                               "  Interval = 20s \t\r\n");
    EXPECT_EQ(read().interval, 20s);
    EXPECT_EQ(read().grace, 60s);
    EXPECT_EQ(complaint("[Enforcement]\nInterval=20s\nInterval=soon\n").substr(0, 12),
              "3: Interval:");
}

TEST_F(SettingsFile, HoldsHowLongRequestsWait) {
    folder.write("genvd.conf", "[Queue]\nMaxWait=2d\nKeepFor=0\n");
    const core::Settings settings = read();
    EXPECT_EQ(settings.maxWait, 48h);
    EXPECT_EQ(settings.keepFor, 0s);
    EXPECT_EQ(service::settingsChanged({}, settings),
              (std::vector<std::string>{"MaxWait=2d", "KeepFor=0s"}));
    EXPECT_EQ(complaint("[Queue]\nMaxWait=0\n"), "2: MaxWait: expected at least 1000ms");
    EXPECT_NE(complaint("[User alice]\nMaxWait=1h\n"), "nothing");
}

TEST_F(SettingsFile, HoldsTheOrderOfTheQueueAndWeights) {
    EXPECT_EQ(read().order, core::QueueOrder::Fifo);
    folder.write("genvd.conf", "[Queue]\nOrder=fair\nHalfLife=1d\nMaxOvertaking=0\nMaxFirst=2h\n"
                               "[User alice]\nWeight=1000\n[User bob]\nWeight=7\nWeight=\n"
                               "[Group students]\nWeight=1\n[Group staff]\nWeight=300\n");
    core::Settings settings = read();
    EXPECT_EQ(settings.order, core::QueueOrder::Fair);
    EXPECT_EQ(settings.halfLife, 24h);
    EXPECT_EQ(settings.maxOvertaking, 0U);
    EXPECT_EQ(settings.maxFirst, 2h);
    EXPECT_EQ(service::settingsChanged({}, settings),
              (std::vector<std::string>{"Order=fair", "HalfLife=1d", "MaxOvertaking=0",
                                        "MaxFirst=2h", "User.alice.Weight=1000",
                                        "Group.staff.Weight=300", "Group.students.Weight=1"}));
    constexpr core::Gid students = 1101;
    constexpr core::Gid staff = 1102;
    settings.limits.ids.groups.names = {{students, {"students"}}, {staff, {"staff"}}};
    EXPECT_EQ(settings.limits.weightOf({1001, "alice", {students}}), 1000U);
    EXPECT_EQ(settings.limits.weightOf({1002, "bob", {students}}), 1U);
    EXPECT_EQ(settings.limits.weightOf({1002, "bob", {students, staff}}), 300U);
    EXPECT_EQ(settings.limits.weightOf({1003, "carol", {}}), 100U);
    EXPECT_EQ(settings.limits.weightOf({1003, "1003", {}, true}), 1U) << "it may be hers";
}

TEST_F(SettingsFile, RefusesAWrongOrderOrWeight) {
    EXPECT_EQ(complaint("[Queue]\nOrder=lifo\n"),
              "2: Order: invalid value \"lifo\": expected fifo or fair");
    EXPECT_EQ(complaint("[Queue]\nHalfLife=0\n"), "2: HalfLife: expected at least 1000ms");
    for (const char* wrong : {"-1", "many", "4294967296", ""})
        EXPECT_NE(complaint(std::string("[Queue]\nMaxOvertaking=") + wrong + "\n"), "nothing");
    for (const char* wrong : {"0", "1001", "-1", "heavy", "1.5", "infinity"})
        EXPECT_EQ(complaint(std::string("[Group students]\nWeight=") + wrong + "\n"),
                  std::string("2: Weight: invalid value \"") + wrong +
                      "\": expected a number from 1 to 1000");
    EXPECT_NE(complaint("[Limits]\nWeight=5\n"), "nothing");
}

TEST_F(SettingsFile, HoldsRulesAndLimits) {
    folder.write("genvd.conf",
                 "[Enforcement]\nNonEnvProcesses=yes\nEnvDevices=off\nEnvMemory=0\nGrace=1min\n"
                 "Linger=no\nDryRun=true\n[Limits]\nMaxDevicesPerUser=2\nMaxEnvironmentsPerUser=3\n"
                 "MaxProcessesPerUser=4\nMaxGpuMemoryPerUser=32g\nMaxGpuMemoryPerDevice=8gi\n"
                 "MaxLifetime=2d\nIdleTimeout=1h\n[User alice]\nMaxDevicesPerUser=infinity\n"
                 "[Group students]\nMaxDevicesPerUser=1\n");
    folder.write("genvd.conf.d/50-more.conf", "[Limits]\nMaxProcessesPerUser=\n");
    core::Settings settings = read();
    EXPECT_TRUE(settings.rules.nonEnvProcesses && settings.dryRun);
    EXPECT_FALSE(settings.rules.envDevices || settings.rules.envMemory || settings.linger);
    EXPECT_EQ(settings.grace, 60s);
    const core::Limits everybody = settings.limits.of({1003, "carol", {}});
    EXPECT_EQ(everybody,
              (core::Limits{2, std::nullopt, 3, std::nullopt, core::Bytes{32'000'000'000},
                            core::Bytes{8ULL << 30}, 48h, 1h}));
    constexpr core::Gid students = 1101;
    settings.limits.ids.groups.names[students] = {"students"};
    EXPECT_EQ(settings.limits.of({1002, "bob", {students}}).maxDevices, 1U);
    EXPECT_EQ(settings.limits.of({1001, "alice", {students}}).maxDevices, std::nullopt);
}

TEST_F(SettingsFile, KeepsGrantsUnlessToldOtherwise) {
    EXPECT_TRUE(read().keepGrants);
    folder.write("genvd.conf", "[Enforcement]\nKeepGrants=no\n");
    EXPECT_FALSE(read().keepGrants);
    EXPECT_EQ(service::settingsChanged({}, read()), std::vector<std::string>{"KeepGrants=no"});
}

// A changed copy is previewed in place of the file that it is to replace.
TEST_F(SettingsFile, IsReadInPlaceOfTheOneWithItsName) {
    folder.write("genvd.conf", "[Limits]\nMaxDevicesPerUser=1\nMaxProcessesPerUser=1\n");
    folder.write("genvd.conf.d/20-limits.conf", "[Limits]\nMaxDevicesPerUser=2\n");
    folder.write("genvd.conf.d/30-late.conf", "[Limits]\nMaxEnvironmentsPerUser=3\n");
    folder.write("copy/genvd.conf", "[Limits]\nMaxDevicesPerUser=7\nMaxEnvironmentsPerUser=7\n");
    folder.write("copy/20-limits.conf", "[Limits]\nMaxLifetime=8h\n");
    folder.write("copy/25-more.conf", "[Limits]\nMaxDevicesPerUser=5\nMaxEnvironmentsPerUser=5\n");
    const auto with = [&](const char* name) {
        const core::Limits limits =
            service::readSettings(folder.path(), folder.path() / "copy" / name).limits.general;
        return std::tuple(limits.maxDevices, limits.maxEnvironments, limits.maxProcesses);
    };
    using Numbers = std::tuple<std::optional<std::uint32_t>, std::optional<std::uint32_t>,
                               std::optional<std::uint32_t>>;
    EXPECT_EQ(with("genvd.conf"), Numbers(2, 3, std::nullopt));
    EXPECT_EQ(with("20-limits.conf"), Numbers(1, 3, 1));
    EXPECT_EQ(with("25-more.conf"), Numbers(5, 3, 1));
}

TEST_F(SettingsFile, NamesTheLimitThatMakesNoSense) {
    EXPECT_EQ(
        complaint("[Limits]\nMaxDevicesPerUser=-1\n"),
        "2: MaxDevicesPerUser: invalid value \"-1\": expected a number from 0 to 4294967295, or "
        "infinity");
    EXPECT_EQ(complaint("[User alice]\n\nInterval=3s\n").substr(0, 45),
              "3: unknown setting \"Interval\" in [User alice]");
    EXPECT_NE(complaint("[Group students]\nMaxGpuMemoryPerUser=many\n"), "nothing");
    EXPECT_NE(complaint("[User ]\n"), "nothing");
    EXPECT_EQ(complaint("[Enforcement]\nDryRun=perhaps\n"),
              "2: DryRun: invalid value \"perhaps\": expected yes or no");
}

TEST_F(SettingsFile, ReadsIsolation) {
    EXPECT_EQ(read().isolation, core::IsolationSettings{});
    folder.write("genvd.conf", "[Isolation]\nIsolation=watch\nIsolationExempt=alice system bob\n"
                               "IsolationOpenDevices=GPU-1 MIG-2\nDockerUser=yes\n"
                               "IsolationRenderNodes=yes\n");
    const core::IsolationSettings expected{core::IsolationMode::Watch, true, {"alice", "bob"}, true,
                                           {"GPU-1", "MIG-2"},         true};
    EXPECT_EQ(read().isolation, expected);
    folder.write("genvd.conf", "[Isolation]\nIsolation=user\nIsolationExempt=alice\n");
    EXPECT_FALSE(read().isolation.exemptSystem);
}

TEST_F(SettingsFile, ReadsIsolationDespiteErrorsElsewhere) {
    const auto isolation = [this](const std::string& dropIn) {
        folder.write("genvd.conf", "[Isolation]\nIsolation=user\n");
        folder.write("genvd.conf.d/mine.conf", dropIn);
        return service::readIsolation(folder.path());
    };
    const std::string place = (folder.path() / "genvd.conf.d" / "mine.conf").string();
    for (const std::string error :
         {"[Limits]\nMaxDevices=2\n", "[Limits]\nMaxDevicesPerUser=many\n", "[Limits]\nnonsense\n",
          "[Limts]\n", "[Enforcement]\nEnvDevices=perhaps\n", "Backend=auto\n", "[Isolaton]\n"}) {
        const auto found = isolation(error);
        EXPECT_EQ(found.settings.mode, core::IsolationMode::User) << error;
        ASSERT_EQ(found.errorsElsewhere.size(), 1U) << error;
        EXPECT_TRUE(found.errorsElsewhere[0].starts_with(place + ':')) << found.errorsElsewhere[0];
        EXPECT_THROW(read(), core::Error) << error;
    }
    EXPECT_TRUE(isolation("[Limits]\nMaxDevicesPerUser=2\n").errorsElsewhere.empty());
    for (const std::string error :
         {"[Isolation]\nIsolation=users\n", "[Isolation]\nIsolatoin=user\n", "[Isolation]\nuser\n",
          "[Enforcement]\nEnvDevices=no\n"})
        EXPECT_THROW(isolation(error), core::Error) << error;
}

TEST_F(SettingsFile, ReadsWhatMayBeOnLoan) {
    EXPECT_FALSE(read().parking.turn);
    EXPECT_EQ(read().parking.timeout, 2min);
    folder.write("genvd.conf", "[Parking]\nTurn=1h\n[Enforcement]\nIdleAction=park\n[Limits]\n"
                               "MaxPreemptibleDevices=2\n[User alice]\n"
                               "MaxPreemptibleDevices=infinity\n[Group students]\n"
                               "MaxPreemptibleDevices=\n");
    const core::Settings settings = read();
    EXPECT_EQ(settings.idleAction, core::IdleAction::Park);
    EXPECT_EQ(settings.limits.general.maxPreemptibleDevices, 2U);
    EXPECT_EQ(settings.limits.users.at("alice").maxPreemptibleDevices,
              core::infinite<std::uint32_t>());
    EXPECT_FALSE(settings.limits.groups.at("students").maxPreemptibleDevices);
    EXPECT_EQ(service::settingsChanged({}, settings),
              (std::vector<std::string>{"IdleAction=park", "Turn=1h", "MaxPreemptibleDevices=2",
                                        "User.alice.MaxPreemptibleDevices=infinity"}));
    folder.write("genvd.conf.d/50.conf", "[Parking]\nTurn=\n");
    EXPECT_FALSE(read().parking.turn);
    EXPECT_EQ(complaint("[Enforcement]\nIdleAction=requeue\n"),
              "2: IdleAction: invalid action \"requeue\": expected detach or park");
    EXPECT_NE(complaint("[Limits]\nMaxPreemptibleDevices=-1\n"), "nothing");
}

TEST_F(SettingsFile, NeverTakesAMistakeForAnExemption) {
    EXPECT_EQ(complaint("[Isolation]\nIsolationExempt=\n"),
              "2: IsolationExempt: empty value: expected \"system\" or names of users; "
              "comment the line out for the default, which is \"system\"");
    for (const std::string name : {"1000", "*", "a,b", "-x", "a:b", "\x1b[31m"})
        EXPECT_EQ(complaint("[Isolation]\nIsolationExempt=" + name + "\n").substr(0, 40),
                  "2: IsolationExempt: invalid user name \"" + core::escaped(name).substr(0, 1))
            << name;
    EXPECT_EQ(complaint("[Isolation]\nIsolation=yes\n"),
              "2: Isolation: invalid mode \"yes\": expected none, watch or user");
    EXPECT_EQ(complaint("[Isolation]\nIsolationRenderNodes=maybe\n"),
              "2: IsolationRenderNodes: invalid value \"maybe\": expected yes or no");
    EXPECT_EQ(complaint("[Isolation]\nIsolationOpenDevices=0\n").substr(0, 40),
              "2: IsolationOpenDevices: invalid UUID \"0");
}

TEST_F(SettingsFile, NeedsTheRuleForOpenDescriptorsWhereTheKernelRefuses) {
    folder.write("genvd.conf", "[Isolation]\nIsolation=user\n[Enforcement]\nEnvDevices=no\n");
    try {
        read();
        FAIL() << "the configuration was taken";
    } catch (const core::Error& error) {
        EXPECT_EQ(std::string(error.what()).substr(0, 37), "Isolation=user needs EnvDevices=yes: ");
    }
    folder.write("genvd.conf", "[Isolation]\nIsolation=watch\n[Enforcement]\nEnvDevices=no\n");
    EXPECT_FALSE(read().rules.envDevices);
}

TEST_F(SettingsFile, ReadsWhatIsSlurms) {
    EXPECT_EQ(read().slurm, core::SlurmSettings{});
    folder.write("genvd.conf", "[Slurm]\nDevices=GPU-1, MIG-2\nIdleAction=requeue\n"
                               "BinDir=/opt/slurm/bin\n");
    const core::SlurmSettings expected{
        {false, {"GPU-1", "MIG-2"}}, core::SlurmIdleAction::Requeue, "/opt/slurm/bin"};
    EXPECT_EQ(read().slurm, expected);
    EXPECT_EQ(service::settingsChanged({}, read()),
              (std::vector<std::string>{"Devices=GPU-1,MIG-2", "IdleAction=requeue",
                                        "BinDir=/opt/slurm/bin"}));
    folder.write("genvd.conf", "[Slurm]\nDevices=all\n");
    EXPECT_TRUE(read().slurm.devices.contains("GPU-7"));
    folder.write("genvd.conf.d/50-none.conf", "[Slurm]\nDevices=none\n");
    EXPECT_FALSE(read().slurm.devices.contains("GPU-7"));
}

TEST_F(SettingsFile, ReadsHowParkingIsBounded) {
    folder.write("genvd.conf", "[Parking]\nEnable=no\nKeepMemory=25%\nMaxMemory=1gi\n"
                               "MaxMemoryPerUser=1g\nLockTimeout=3s\nMaxParkedTime=2h\n"
                               "MultiGpu=yes\nWithoutIsolation=yes\nAtLeaseEnd=yes\nTurn=30min\n"
                               "Timeout=5min\n");
    const core::ParkingSettings expected{false,
                                         {25, core::Bytes{0}},
                                         core::Bytes{1ULL << 30U},
                                         core::Bytes{1'000'000'000},
                                         3s,
                                         2h,
                                         true,
                                         true,
                                         true,
                                         30min,
                                         5min};
    EXPECT_EQ(read().parking, expected);
    EXPECT_EQ(read().parking.keepMemory.of(core::Bytes{1000}), core::Bytes{250});
    EXPECT_EQ(service::settingsChanged({}, read()).at(1), "KeepMemory=25%");
    folder.write("genvd.conf.d/50.conf", "[Parking]\nKeepMemory=2gi\nMaxMemory=\n");
    EXPECT_EQ(read().parking.keepMemory.of(core::Bytes{1000}), core::Bytes{2ULL << 30U});
    EXPECT_FALSE(read().parking.maxMemory);
    for (const std::string line :
         {"KeepMemory=101%", "KeepMemory=%", "Enable=maybe", "LockTimeout=0", "MaxMemory=much",
          "WithoutIsolation=2", "AtLeaseEnd=", "Turn=0", "Turn=soon", "Timeout=0", "Timeout="})
        EXPECT_NE(complaint("[Parking]\n" + line + "\n"), "nothing") << line;
}

TEST_F(SettingsFile, NeverTakesAMistakeForADeviceOfSlurms) {
    for (const std::string value : {"0", "GPU-1,", ",GPU-1", "GPU-1 GPU-2", "all,GPU-1", "ALL", ""})
        EXPECT_EQ(complaint("[Slurm]\nDevices=" + value + "\n").substr(0, 26),
                  "2: Devices: invalid value ")
            << value;
    EXPECT_EQ(complaint("[Slurm]\nDevices=GPU-1,0\n"),
              "2: Devices: invalid value \"0\": expected none, all, or UUIDs such as `genvctl "
              "devices --json` prints them, separated by commas");
    EXPECT_EQ(complaint("[Slurm]\nIdleAction=detach\n"),
              "2: IdleAction: invalid action \"detach\": expected warn, cancel or requeue");
    for (const std::string value : {"", "bin", "/opt/../bin", "/opt//bin", "/a\x1b[31m"})
        EXPECT_EQ(complaint("[Slurm]\nBinDir=" + value + "\n").substr(0, 25),
                  "2: BinDir: invalid path \"")
            << value;
}

// genvd.conf(5) and the shipped file name exactly the existing keys.
TEST_F(SettingsFile, EveryKeyIsDocumented) {
    for (const char* name : {GENV_CONF_FILE, GENV_CONF_MANUAL}) {
        std::ifstream file(name);
        const std::string text((std::istreambuf_iterator<char>(file)),
                               std::istreambuf_iterator<char>());
        for (const char* heading : {"GPU", "Enforcement", "Queue", "Isolation", "Slurm", "Parking",
                                    "Limits", "User NAME"}) {
            for (const std::string_view key : service::findSection(heading)->keys())
                EXPECT_NE(text.find(std::string(key) + "="), std::string::npos)
                    << key << " in " << name;
        }
    }
}

TEST_F(SettingsFile, SurvivesHostileFiles) {
    for (const std::string& text :
         {std::string("\xff\xfe\0\0", 4), std::string(100000, '['), std::string(100000, '='),
          "[GPU]\n" + std::string(100000, 'x') + "=1", std::string("[]\n=\n")})
        EXPECT_NE(complaint(text), "nothing");
}

} // namespace
} // namespace genv::tests
