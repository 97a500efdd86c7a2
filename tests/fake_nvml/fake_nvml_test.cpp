// SPDX-License-Identifier: LGPL-2.1-or-later
// The fake NVML behaves as NVIDIA documents the real one, wherever callers could notice a
// difference.
#include "core/model/nvml_abi.hpp"
#include "tests/fake_nvml/export_table.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace nvml = genv::nvml;
using nlohmann::json;
using nvml::Return;

namespace {

class FakeNvml : public testing::Test {
  public:
    FakeNvml() {
        std::string name = (std::filesystem::temp_directory_path() / "genv-fake-XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr)
            throw std::runtime_error("no temporary folder");
        folder_ = name;
        if (library_ == nullptr)
            throw std::runtime_error(::dlerror());
        ::setenv("GENV_FAKE_NVML", (folder_ / "machine.json").c_str(), 1);
    }
    ~FakeNvml() override {
        ::dlclose(library_);
        std::filesystem::remove_all(folder_);
    }

  protected:
    [[nodiscard]] std::filesystem::path allocations() const { return folder_ / "allocations"; }

    void become(const json& machine) const {
        std::ofstream(folder_ / "next") << machine;
        std::filesystem::rename(folder_ / "next", folder_ / "machine.json");
    }

    template <typename... Args>
    Return call(const char* name, Args... args) const {
        const auto function = reinterpret_cast<Return (*)(Args...)>(::dlsym(library_, name));
        return function != nullptr ? function(args...) : Return::FunctionNotFound;
    }

    nvml::Device handle(unsigned index) const {
        nvml::Device device = nullptr;
        EXPECT_EQ(call("nvmlDeviceGetHandleByIndex_v2", index, &device), Return::Success);
        return device;
    }

    std::string text(const char* function, nvml::Device device) const {
        std::array<char, 96> buffer{};
        EXPECT_EQ(call(function, device, buffer.data(), 96U), Return::Success);
        return buffer.data();
    }

    static json machine() {
        return {{"driver", "550.54.15"},
                {"cuda", 12040},
                {"devices",
                 {{{"uuid", "GPU-a"},
                   {"name", "NVIDIA A100"},
                   {"pci", "00000000:65:00.0"},
                   {"memory", {{"total", 1000}, {"used", 100}, {"reserved", 10}}},
                   {"power", 50000},
                   {"persistence", true},
                   {"processes",
                    {{{"pid", 7}, {"name", "train"}}, {{"pid", 8}, {"type", "graphics"}}}}},
                  {{"uuid", "GPU-b"},
                   {"mig", {nullptr, {{"uuid", "MIG-b"}, {"gi", 3}, {"ci", 1}, {"power", 1}}}}}}}};
    }

  private:
    std::filesystem::path folder_;
    void* library_ = ::dlopen(FAKE_NVML, RTLD_NOW | RTLD_LOCAL);
};

TEST_F(FakeNvml, ListsTheLockedAllocationsOfRunningProgramsAsProcesses) {
    become({{"devices", {{{"uuid", "GPU-1"}, {"memory", {{"total", 1000}, {"used", 10}}}}}}});
    std::filesystem::create_directory(allocations());
    const auto file = allocations() / "one";
    std::ofstream(file) << "GPU-1 500\n";
    std::array<int, 2> ready{};
    ASSERT_EQ(::pipe(ready.data()), 0);
    const pid_t program = ::fork();
    if (program == 0) {
        struct flock lock {};
        lock.l_type = F_WRLCK;
        ::fcntl(::open(file.c_str(), O_RDWR), F_SETLK, &lock);
        ::close(ready[1]);
        ::pause();
        ::_exit(0);
    }
    ::close(ready[1]);
    char nothing = 0;
    EXPECT_EQ(::read(ready[0], &nothing, 1), 0);
    ASSERT_EQ(call("nvmlInit_v2"), Return::Success);
    unsigned count = 4;
    std::array<nvml::ProcessV2, 4> processes{};
    EXPECT_EQ(call("nvmlDeviceGetComputeRunningProcesses_v3", handle(0), &count,
                   static_cast<void*>(processes.data())),
              Return::Success);
    EXPECT_EQ(count, 1U);
    EXPECT_EQ(processes[0].pid, static_cast<unsigned>(program));
    EXPECT_EQ(processes[0].usedGpuMemory, 500U);
    nvml::MemoryV1 memory{};
    EXPECT_EQ(call("nvmlDeviceGetMemoryInfo", handle(0), &memory), Return::Success);
    EXPECT_EQ(memory.used, 510U);
    ::kill(program, SIGKILL);
    ::waitpid(program, nullptr, 0);
    count = 4;
    EXPECT_EQ(call("nvmlDeviceGetComputeRunningProcesses_v3", handle(0), &count,
                   static_cast<void*>(processes.data())),
              Return::Success);
    EXPECT_EQ(count, 0U);
    ::close(ready[0]);
}

TEST_F(FakeNvml, IsNoDriverWithoutAMachine) {
    EXPECT_EQ(call("nvmlInit_v2"), Return::DriverNotLoaded);
}

TEST_F(FakeNvml, AnswersNothingBeforeInitAndAfterTheLastShutdown) {
    become(machine());
    unsigned count = 0;
    EXPECT_EQ(call("nvmlDeviceGetCount_v2", &count), Return::Uninitialized);
    EXPECT_EQ(call("nvmlInit_v2"), Return::Success);
    EXPECT_EQ(call("nvmlInit_v2"), Return::Success);
    EXPECT_EQ(call("nvmlShutdown"), Return::Success);
    EXPECT_EQ(call("nvmlDeviceGetCount_v2", &count), Return::Success);
    EXPECT_EQ(count, 2U);
    EXPECT_EQ(call("nvmlShutdown"), Return::Success);
    EXPECT_EQ(call("nvmlDeviceGetCount_v2", &count), Return::Uninitialized);
    EXPECT_EQ(call("nvmlShutdown"), Return::Uninitialized);
}

TEST_F(FakeNvml, HandlesAreOfOneInit) {
    become(machine());
    call("nvmlInit_v2");
    const nvml::Device device = handle(0);
    EXPECT_EQ(handle(0), device);
    call("nvmlShutdown");
    call("nvmlInit_v2");
    unsigned power = 0;
    EXPECT_EQ(call("nvmlDeviceGetPowerUsage", device, &power), Return::InvalidArgument);
    EXPECT_EQ(call("nvmlDeviceGetPowerUsage", handle(0), &power), Return::Success);
    EXPECT_EQ(power, 50000U);
}

TEST_F(FakeNvml, FindsDevicesByIndexUuidAndAddress) {
    become(machine());
    call("nvmlInit_v2");
    nvml::Device device = nullptr;
    EXPECT_EQ(call("nvmlDeviceGetHandleByUUID", "GPU-a", &device), Return::Success);
    EXPECT_EQ(device, handle(0));
    EXPECT_EQ(call("nvmlDeviceGetHandleByPciBusId_v2", "0000:65:00.0", &device), Return::Success);
    EXPECT_EQ(device, handle(0));
    EXPECT_EQ(call("nvmlDeviceGetHandleByUUID", "GPU-z", &device), Return::NotFound);
    EXPECT_EQ(call("nvmlDeviceGetHandleByPciBusId_v2", "0000:99:00.0", &device), Return::NotFound);
    EXPECT_EQ(call("nvmlDeviceGetHandleByIndex_v2", 2U, &device), Return::InvalidArgument);
    unsigned index = 9;
    EXPECT_EQ(call("nvmlDeviceGetIndex", handle(1), &index), Return::Success);
    EXPECT_EQ(index, 1U);
    EXPECT_EQ(text("nvmlDeviceGetName", handle(0)), "NVIDIA A100");
}

TEST_F(FakeNvml, TellsWhatIsAskedAboutTheDriver) {
    become(machine());
    call("nvmlInit_v2");
    std::array<char, 80> version{};
    EXPECT_EQ(call("nvmlSystemGetDriverVersion", version.data(), 80U), Return::Success);
    EXPECT_STREQ(version.data(), "550.54.15");
    EXPECT_EQ(call("nvmlSystemGetDriverVersion", version.data(), 9U), Return::InsufficientSize);
    int cuda = 0;
    EXPECT_EQ(call("nvmlSystemGetCudaDriverVersion_v2", &cuda), Return::Success);
    EXPECT_EQ(cuda, 12040);
    std::array<char, 80> name{};
    EXPECT_EQ(call("nvmlSystemGetProcessName", 7U, name.data(), 80U), Return::Success);
    EXPECT_STREQ(name.data(), "train");
}

TEST_F(FakeNvml, ChecksTheVersionOfStructsThatHaveOne) {
    become(machine());
    call("nvmlInit_v2");
    nvml::MemoryV2 memory{};
    EXPECT_EQ(call("nvmlDeviceGetMemoryInfo_v2", handle(0), &memory),
              Return::ArgumentVersionMismatch);
    memory.version = nvml::memoryV2Version;
    EXPECT_EQ(call("nvmlDeviceGetMemoryInfo_v2", handle(0), &memory), Return::Success);
    EXPECT_EQ(memory.reserved + memory.used + memory.free, memory.total);
    EXPECT_EQ(memory.used, 100U);
    nvml::MemoryV1 older{};
    EXPECT_EQ(call("nvmlDeviceGetMemoryInfo", handle(0), &older), Return::Success);
    EXPECT_EQ(older.used, 110U);
}

TEST_F(FakeNvml, SaysHowMuchRoomAListNeeds) {
    become(machine());
    call("nvmlInit_v2");
    unsigned count = 0;
    nvml::ProcessV2* none = nullptr;
    EXPECT_EQ(call("nvmlDeviceGetComputeRunningProcesses_v3", handle(0), &count, none),
              Return::InsufficientSize);
    EXPECT_EQ(count, 1U);
    nvml::ProcessV2 process{};
    EXPECT_EQ(call("nvmlDeviceGetComputeRunningProcesses_v3", handle(0), &count, &process),
              Return::Success);
    EXPECT_EQ(process.pid, 7U);
    EXPECT_EQ(process.usedGpuMemory, nvml::valueNotAvailable);
    EXPECT_EQ(process.gpuInstanceId, nvml::noInstance);
    EXPECT_EQ(call("nvmlDeviceGetGraphicsRunningProcesses_v3", handle(0), &count, &process),
              Return::Success);
    EXPECT_EQ(process.pid, 8U);
}

TEST_F(FakeNvml, MigInstancesAreDevicesOfTheirGpu) {
    become(machine());
    call("nvmlInit_v2");
    nvml::Device instance = nullptr;
    EXPECT_EQ(call("nvmlDeviceGetMigDeviceHandleByIndex", handle(1), 0U, &instance),
              Return::NotFound);
    EXPECT_EQ(call("nvmlDeviceGetMigDeviceHandleByIndex", handle(1), 1U, &instance),
              Return::Success);
    nvml::Device same = nullptr;
    EXPECT_EQ(call("nvmlDeviceGetHandleByUUID", "MIG-b", &same), Return::Success);
    EXPECT_EQ(same, instance);
    nvml::Device parent = nullptr;
    EXPECT_EQ(call("nvmlDeviceGetDeviceHandleFromMigDeviceHandle", instance, &parent),
              Return::Success);
    EXPECT_EQ(parent, handle(1));
    unsigned value = 0;
    EXPECT_EQ(call("nvmlDeviceIsMigDeviceHandle", instance, &value), Return::Success);
    EXPECT_EQ(value, 1U);
    EXPECT_EQ(call("nvmlDeviceGetGpuInstanceId", instance, &value), Return::Success);
    EXPECT_EQ(value, 3U);
    EXPECT_EQ(call("nvmlDeviceGetIndex", instance, &value), Return::Success);
    EXPECT_EQ(value, 1U);
    EXPECT_EQ(call("nvmlDeviceGetPowerUsage", instance, &value), Return::NotSupported);
}

TEST_F(FakeNvml, WhatIsTakenFromTheMachineIsLostUntilTheNextInit) {
    become(machine());
    call("nvmlInit_v2");
    const nvml::Device device = handle(0);
    json smaller = machine();
    smaller["devices"].erase(0);
    become(smaller);
    unsigned power = 0;
    EXPECT_EQ(call("nvmlDeviceGetPowerUsage", device, &power), Return::GpuIsLost);
    unsigned count = 0;
    EXPECT_EQ(call("nvmlDeviceGetCount_v2", &count), Return::Success);
    EXPECT_EQ(count, 2U);
    call("nvmlShutdown");
    call("nvmlInit_v2");
    EXPECT_EQ(call("nvmlDeviceGetCount_v2", &count), Return::Success);
    EXPECT_EQ(count, 1U);
}

TEST_F(FakeNvml, FaultsAreForFunctionsAndDevices) {
    json faulty = machine();
    faulty["faults"] = {{"nvmlSystemGetDriverVersion", 999}};
    faulty["devices"][0]["faults"] = {{"nvmlDeviceGetPersistenceMode", 4}};
    become(faulty);
    call("nvmlInit_v2");
    std::array<char, 80> version{};
    EXPECT_EQ(call("nvmlSystemGetDriverVersion", version.data(), 80U), Return::Unknown);
    unsigned value = 0;
    EXPECT_EQ(call("nvmlDeviceGetPersistenceMode", handle(0), &value), Return::NoPermission);
    become(machine());
    EXPECT_EQ(call("nvmlDeviceGetPersistenceMode", handle(0), &value), Return::Success);
    EXPECT_EQ(value, 1U);
}

TEST_F(FakeNvml, GivesTheSameAroundItsSymbols) {
    become(machine());
    ASSERT_EQ(call("nvmlInit_v2"), Return::Success);
    const void* found = nullptr;
    const void* id = genv::fake_nvml::exportTableId.data();
    ASSERT_EQ(call("nvmlInternalGetExportTable", &found, id), Return::Success);
    const auto* table = static_cast<const genv::fake_nvml::ExportTable*>(found);
    EXPECT_EQ(table->size, sizeof(*table));
    unsigned long long total = 0;
    unsigned long long reserved = 0;
    unsigned long long used = 0;
    EXPECT_EQ(table->memory(handle(0), &total, &reserved, &used), Return::Success);
    EXPECT_EQ((std::array{total, reserved, used}), (std::array{1000ULL, 10ULL, 100ULL}));
    std::array<nvml::ProcessV2, 2> processes{};
    unsigned count = 0;
    EXPECT_EQ(table->processes(handle(0), "compute", &count, processes.data()),
              Return::InsufficientSize);
    EXPECT_EQ(table->processes(handle(0), "compute", &count, processes.data()), Return::Success);
    EXPECT_EQ(count, 1U);
    EXPECT_EQ(processes[0].pid, 7U);
    const std::array<unsigned char, 16> other{};
    const void* unknown = other.data();
    EXPECT_EQ(call("nvmlInternalGetExportTable", &found, unknown), Return::NotFound);
}

TEST_F(FakeNvml, TheOldOneLacksWhatCameLater) {
    void* old = ::dlopen(FAKE_NVML_OLD, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(old, nullptr);
    EXPECT_NE(::dlsym(old, "nvmlDeviceGetComputeRunningProcesses"), nullptr);
    for (const char* name :
         {"nvmlInit_v2", "nvmlDeviceGetComputeRunningProcesses_v2", "nvmlDeviceGetMemoryInfo_v2",
          "nvmlDeviceGetMigMode", "nvmlEventSetWait_v2", "nvmlDeviceGetMPSComputeRunningProcesses"})
        EXPECT_EQ(::dlsym(old, name), nullptr) << name;
    ::dlclose(old);
}

} // namespace
