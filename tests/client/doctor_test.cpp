// SPDX-License-Identifier: LGPL-2.1-or-later
// The doctor's conclusions from its findings. No check can block the doctor.
#include "client/genvctl/doctor/driver.hpp"
#include "client/genvctl/doctor/examination.hpp"
#include "client/genvctl/doctor/login_requirements.hpp"
#include "client/genvctl/doctor/parking_check.hpp"
#include "client/unit_failure.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>

namespace genv::ctl::doctor {
namespace {

using enum DoctorVerdict;

DoctorVerdict verdictOn(const DriverFacts& facts) {
    const DoctorFinding finding = judgeDriver(facts);
    EXPECT_NE(finding.found, "");
    EXPECT_EQ(finding.advice.empty(), finding.verdict == Ok) << finding.advice;
    return finding.verdict;
}

DriverFacts wellMachine() {
    DriverFacts facts;
    facts.gpus = 2;
    facts.module = facts.library = "535.183.01";
    facts.hasLibrary = true;
    facts.devices = 2;
    return facts;
}

TEST(Doctor, FindsNothingWrongWithADriverThatWorks) {
    EXPECT_EQ(verdictOn(wellMachine()), Ok);
    DriverFacts facts = wellMachine();
    facts.devices.reset(); // the service does not run, which another check reports
    EXPECT_EQ(judgeDriver(facts).found, "NVIDIA's driver 535.183.01, 2 GPUs");
}

TEST(Doctor, NamesADriverThatIsNotLoaded) {
    DriverFacts facts = wellMachine();
    facts.module.reset();
    facts.devices = 0;
    EXPECT_EQ(verdictOn(facts), Problem);
    EXPECT_NE(judgeDriver(facts).advice.find("modprobe"), std::string::npos);
}

TEST(Doctor, NamesALibraryThatIsMissingOrOfAnotherVersion) {
    DriverFacts facts = wellMachine();
    facts.library = "550.54.14";
    EXPECT_EQ(verdictOn(facts), Problem);
    facts.library.clear(); // unknown
    EXPECT_EQ(verdictOn(facts), Ok);
    facts.hasLibrary = false;
    EXPECT_EQ(verdictOn(facts), Problem);
}

TEST(Doctor, NamesGpusThatAreNotWellOrNotSeen) {
    DriverFacts facts = wellMachine();
    facts.unhealthy = "GPU 1: xid-79";
    EXPECT_EQ(judgeDriver(facts).found, "GPU 1: xid-79");
    EXPECT_EQ(verdictOn(facts), Problem);
    facts = wellMachine();
    facts.unaccounted = "GPU 0: 37 GiB in use by no process";
    EXPECT_EQ(judgeDriver(facts).found, "GPU 0: 37 GiB in use by no process");
    EXPECT_EQ(verdictOn(facts), Warning);
    facts = wellMachine();
    facts.devices = 0;
    EXPECT_EQ(verdictOn(facts), Problem);
}

TEST(Doctor, TakesSimulatedGpusAndAMachineWithoutAnyForWarnings) {
    DriverFacts facts;
    EXPECT_EQ(verdictOn(facts), Warning);
    facts.devices = 4;
    EXPECT_EQ(verdictOn(facts), Warning);
    EXPECT_NE(judgeDriver(facts).found.find("4 simulated GPUs"), std::string::npos);
}

TEST(Doctor, CountsNvidiasGpusAndReadsTheLoadedDriversVersion) {
    namespace fs = std::filesystem;
    std::string name = testing::TempDir() + "doctor-XXXXXX";
    SystemPlaces places;
    places.root = mkdtemp(name.data());
    const auto write = [&](const char* path, const char* text) {
        const fs::path file = places.at(path);
        fs::create_directories(file.parent_path());
        std::ofstream(file) << text;
    };
    EXPECT_EQ(readDriverFacts(places).gpus, 0U);
    EXPECT_EQ(readDriverFacts(places).module, std::nullopt);
    const auto device = [&](const std::string& address, const char* kind, const char* vendor) {
        const std::string folder = "/sys/bus/pci/devices/" + address;
        write((folder + "/class").c_str(), kind);
        write((folder + "/vendor").c_str(), vendor);
    };
    device("0000:01:00.0", "0x030000\n", "0x10de\n");
    device("0000:01:00.1", "0x040300\n", "0x10de\n"); // the audio function of a GPU
    device("0000:02:00.0", "0x030200\n", "0x10de\n");
    device("0000:03:00.0", "0x030000\n", "0x8086\n");
    EXPECT_EQ(readDriverFacts(places).gpus, 2U);
    write("/proc/driver/nvidia/version",
          "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.183.01  Sun May 12 19:39:15 UTC\n"
          "GCC version:  gcc version 12.2.0 (Debian 12.2.0-14)\n");
    EXPECT_EQ(readDriverFacts(places).module, "535.183.01");
    write("/proc/driver/nvidia/version",
          "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.54.14  Release Build\n");
    EXPECT_EQ(readDriverFacts(places).module, "550.54.14");
    write("/proc/driver/nvidia/version", "something else\n");
    EXPECT_EQ(readDriverFacts(places).module, "of an unknown version");
    fs::remove_all(places.root);
}

ParkingFacts machineThatParks() {
    ParkingFacts facts;
    facts.module = "580.159.04";
    facts.hasLibrary = facts.hasFunctions = true;
    facts.notPersistent.emplace();
    facts.available = core::Bytes{std::uint64_t{96} << 30U};
    facts.socket = "active";
    return facts;
}

DoctorFinding parkingWithout(const std::function<void(ParkingFacts&)>& remove) {
    ParkingFacts facts = machineThatParks();
    remove(facts);
    DoctorFinding finding = judgeParking(facts);
    EXPECT_EQ(finding.advice.empty(), finding.verdict == Ok) << finding.advice;
    return finding;
}

TEST(Doctor, SaysWhatParkingLacks) {
    EXPECT_EQ(judgeParking(machineThatParks()).found,
              "NVIDIA's driver 580.159.04 can park; 96 GiB of host memory are free");
    EXPECT_EQ(parkingWithout([](auto& facts) { facts.available.reset(); }).verdict, Ok);
    EXPECT_EQ(parkingWithout([](auto& facts) { facts.notPersistent.reset(); }).verdict, Ok);
    EXPECT_EQ(parkingWithout([](auto& facts) { facts.socket.clear(); }).verdict, Ok);
    EXPECT_EQ(parkingWithout([](auto& facts) { facts.hasFunctions = false; }).found,
              "NVIDIA's driver 580.159.04 cannot park; driver 570 and later can, on x86-64");
    const DoctorFinding library = parkingWithout([](auto& facts) { facts.hasLibrary = false; });
    EXPECT_EQ(library.verdict, Warning);
    EXPECT_NE(library.found.find("libcuda.so.1"), std::string::npos);
    const DoctorFinding socket = parkingWithout([](auto& facts) { facts.socket = "inactive"; });
    EXPECT_EQ(socket.verdict, Warning);
    EXPECT_NE(socket.found.find("genv-park.socket is inactive"), std::string::npos);
    const DoctorFinding persistence = parkingWithout([](auto& facts) {
        facts.notPersistent = {0, 2};
    });
    EXPECT_EQ(persistence.verdict, Warning);
    EXPECT_NE(persistence.found.find("GPUs 0,2"), std::string::npos);
    EXPECT_EQ(judgeParking({}).verdict, Ok);
}

TEST(Doctor, ReadsTheFreeHostMemory) {
    std::string name = testing::TempDir() + "doctor-XXXXXX";
    SystemPlaces places;
    places.root = mkdtemp(name.data());
    EXPECT_EQ(availableMemory(places), std::nullopt);
    std::filesystem::create_directory(places.root / "proc");
    std::ofstream(places.root / "proc/meminfo")
        << "MemTotal:       24676216 kB\nMemFree:  1 kB\nMemAvailable:   20971520 kB\nBuffers: 2 "
           "kB\n";
    EXPECT_EQ(availableMemory(places), core::Bytes{std::uint64_t{20} << 30U});
    std::filesystem::remove_all(places.root);
}

DoctorFinding hang(const SystemPlaces& /*places*/) {
    for (;;)
        pause();
}

DoctorFinding crash(const SystemPlaces& /*places*/) {
    signal(SIGTERM, SIG_DFL); // resets whatever action this process inherited
    raise(SIGTERM);
    return {};
}

DoctorFinding throwing(const SystemPlaces& /*places*/) {
    throw std::runtime_error("no \xff luck");
}

DoctorFinding well(const SystemPlaces& places) {
    return {Ok, places.home, ""};
}

TEST(Doctor, IsHeldUpByNoCheckThatHangsCrashesOrFails) {
    SystemPlaces places;
    places.home = "/home/alice";
    const auto findings =
        examine({{"hangs", hang}, {"crashes", crash}, {"throws", throwing}, {"well", well}}, places,
                std::chrono::milliseconds(1000));
    ASSERT_EQ(findings.size(), 4U);
    EXPECT_EQ(findings[0].verdict, Problem);
    EXPECT_NE(findings[0].found.find("no answer in time"), std::string::npos);
    EXPECT_EQ(findings[1].verdict, Problem);
    EXPECT_EQ(findings[2].verdict, Warning);
    EXPECT_NE(findings[2].found.find("luck"), std::string::npos);
    EXPECT_EQ(findings[3].verdict, Ok);
    EXPECT_EQ(findings[3].found, "/home/alice");
}

RequiringUnit unitRequiring(const std::string& name, const std::string& active,
                            bool requiresLoader) {
    return {name, {"loaded", active, "enabled", "", 0}, requiresLoader};
}

TEST(Doctor, FindsUnitsThatIsolationKeepsDown) {
    EXPECT_FALSE(judgeRequirements({}));
    EXPECT_FALSE(judgeRequirements({unitRequiring("cron.service", "active", false)}));
    RequiringUnit disabled = unitRequiring("atd.service", "inactive", false);
    disabled.unit.file = "disabled";
    RequiringUnit missing = unitRequiring("crond.service", "inactive", false);
    missing.unit.load = "not-found";
    EXPECT_FALSE(judgeRequirements({disabled, missing}));

    const auto logins = unitRequiring("systemd-user-sessions.service", "inactive", false);
    const auto one = judgeRequirements({logins, disabled});
    ASSERT_TRUE(one);
    EXPECT_EQ(one->verdict, Problem);
    EXPECT_EQ(one->found,
              "systemd-user-sessions.service does not run, because it requires isolation");
    const auto two = judgeRequirements({logins, unitRequiring("cron.service", "failed", true)});
    ASSERT_TRUE(two);
    EXPECT_EQ(two->found, "systemd-user-sessions.service, cron.service do not run, because they "
                          "require isolation");
    EXPECT_NE(two->advice.find("systemctl start multi-user.target"), std::string::npos);
}

TEST(Doctor, WarnsOfUnitsThatStopWithTheLoader) {
    const auto found = judgeRequirements({unitRequiring("cron.service", "active", true)});
    ASSERT_TRUE(found);
    EXPECT_EQ(found->verdict, Warning);
    EXPECT_EQ(found->found,
              "cron.service stops with genv-isolation.service, also when a restart of it fails");
}

TEST(UnitFailure, IsWhatTheServiceSaidOnlyIfItExitedByItself) {
    const std::string said = "genvd.conf:3: unknown setting";
    EXPECT_EQ(client::reasonOf({"exit-code", CLD_EXITED, 78, said, 0}), said);
    EXPECT_EQ(client::reasonOf({"exit-code", CLD_EXITED, 1, said, 19}),
              said + ", after 19 restarts");
    EXPECT_EQ(client::reasonOf({"exit-code", CLD_EXITED, 1, "", 0}), "exit-code, status 1");
    const std::string before = "Serving 2 devices";
    EXPECT_EQ(client::reasonOf({"signal", CLD_KILLED, SIGKILL, before, 1}),
              "killed by SIGKILL, after 1 restart");
    EXPECT_EQ(client::reasonOf({"core-dump", CLD_DUMPED, SIGSEGV, before, 0}), "killed by SIGSEGV");
    EXPECT_EQ(client::reasonOf({"watchdog", CLD_DUMPED, SIGABRT, before, 0}),
              "killed by SIGABRT because it hung");
    EXPECT_EQ(client::reasonOf({"oom-kill", CLD_KILLED, SIGKILL, before, 0}),
              "killed by SIGKILL because memory ran out");
    EXPECT_EQ(client::reasonOf({"signal", CLD_KILLED, SIGRTMIN + 3, before, 0}),
              "killed by signal " + std::to_string(SIGRTMIN + 3));
    EXPECT_EQ(client::reasonOf({"start-limit-hit", CLD_EXITED, 0, before, 0}),
              "start-limit-hit, status 0");
    EXPECT_EQ(client::reasonOf({"resources", 0, 0, "", 0}), "resources, status 0");
}

} // namespace
} // namespace genv::ctl::doctor
