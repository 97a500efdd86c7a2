// SPDX-License-Identifier: LGPL-2.1-or-later
// The doctor's conclusions from its findings. No check can block the doctor.
#include "client/genvctl/doctor/driver.hpp"
#include "client/genvctl/doctor/examination.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace genv::ctl::doctor {
namespace {

using enum Verdict;

Verdict verdictOn(const DriverFacts& facts) {
    const Finding finding = judgeDriver(facts);
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
    Places places;
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

Finding hang(const Places& /*places*/) {
    for (;;)
        pause();
}

Finding crash(const Places& /*places*/) {
    signal(SIGTERM, SIG_DFL); // resets whatever action this process inherited
    raise(SIGTERM);
    return {};
}

Finding throwing(const Places& /*places*/) {
    throw std::runtime_error("no \xff luck");
}

Finding well(const Places& places) {
    return {Ok, places.home, ""};
}

TEST(Doctor, IsHeldUpByNoCheckThatHangsCrashesOrFails) {
    Places places;
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

} // namespace
} // namespace genv::ctl::doctor
