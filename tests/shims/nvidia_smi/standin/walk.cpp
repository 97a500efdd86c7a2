// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/shims/nvidia_smi/standin/walk.hpp"

#include "tests/fake_nvml/export_table.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace genv::standin {

namespace {

using nvml::Return;
using Handle = nvml::Device;

struct PciInfo { // nvmlPciInfo_t
    char busIdLegacy[16];
    unsigned numbers[5];
    char busId[32];
};

[[noreturn]] void fail(int status, const char* text) {
    std::puts(text);
    std::exit(status);
}

void* library() {
    static void* const opened = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    return opened;
}

template <typename... Parameters>
auto function(const char* name) {
    return reinterpret_cast<Return (*)(Parameters...)>(dlsym(library(), name));
}

// Calls the first of these functions that the library has.
template <typename... Parameters>
Return callFirst(std::initializer_list<const char*> names, Parameters... parameters) {
    for (const char* name : names) {
        if (const auto f = function<Parameters...>(name))
            return f(parameters...);
    }
    return Return::FunctionNotFound;
}

const fake_nvml::ExportTable* exportTable(std::string_view what) {
    const char* wanted = std::getenv("GENV_STANDIN_EXPORT_TABLE");
    if (wanted == nullptr || std::string_view(wanted).find(what) == std::string_view::npos)
        return nullptr;
    const void* table = nullptr;
    const void* id = fake_nvml::exportTableId.data();
    if (callFirst({"nvmlInternalGetExportTable"}, &table, id) != Return::Success)
        fail(255, "no export table");
    return static_cast<const fake_nvml::ExportTable*>(table);
}

std::string text(const char* name, Handle device) {
    std::array<char, 96> buffer{};
    const Return result =
        callFirst({name}, device, buffer.data(), static_cast<unsigned>(buffer.size()));
    return result == Return::Success ? buffer.data() : "N/A";
}

std::optional<unsigned> number(const char* name, Handle device) {
    unsigned value = 0;
    if (callFirst({name}, device, &value) != Return::Success)
        return std::nullopt;
    return value;
}

std::optional<Memory> memoryOf(Handle device) {
    if (const auto* table = exportTable("memory")) {
        unsigned long long total = 0;
        unsigned long long reserved = 0;
        unsigned long long used = 0;
        if (table->memory(device, &total, &reserved, &used) != Return::Success)
            return std::nullopt;
        return Memory{total, used, total - used - reserved, reserved};
    }
    nvml::MemoryV2 second{};
    second.version = nvml::memoryV2Version;
    if (callFirst({"nvmlDeviceGetMemoryInfo_v2"}, device, &second) == Return::Success)
        return Memory{second.total, second.used, second.free, second.reserved};
    nvml::MemoryV1 first{};
    if (callFirst({"nvmlDeviceGetMemoryInfo"}, device, &first) == Return::Success)
        return Memory{first.total, first.used, first.free, std::nullopt};
    return std::nullopt;
}

std::string processName(unsigned pid) {
    std::array<char, 256> buffer{};
    const Return result = callFirst({"nvmlSystemGetProcessName"}, pid, buffer.data(),
                                    static_cast<unsigned>(buffer.size()));
    return result == Return::Success ? buffer.data() : "[Not Found]";
}

void add(Gpu& gpu, const nvml::ProcessV2& process, const char* type) {
    const auto id = [](unsigned value) {
        return value == nvml::noInstance ? "N/A" : std::to_string(value);
    };
    std::optional<std::uint64_t> used;
    if (process.usedGpuMemory != nvml::valueNotAvailable)
        used = process.usedGpuMemory;
    gpu.processes.push_back({process.pid, type, processName(process.pid), used,
                             id(process.gpuInstanceId), id(process.computeInstanceId)});
}

constexpr unsigned maxProcesses = 128;

void addFromTable(Gpu& gpu, Handle device, const fake_nvml::ExportTable& table) {
    for (const auto& [kind, type] :
         {std::pair{"compute", "C"}, {"graphics", "G"}, {"mps", "M+C"}}) {
        std::array<nvml::ProcessV2, maxProcesses> list{};
        unsigned count = list.size();
        if (table.processes(device, kind, &count, list.data()) != Return::Success)
            continue;
        for (unsigned i = 0; i < count; ++i)
            add(gpu, list.at(i), type);
    }
}

void addFromSymbols(Gpu& gpu, Handle device) {
    for (const auto& [kind, type] :
         {std::pair{"Compute", "C"}, {"Graphics", "G"}, {"MPSCompute", "M+C"}}) {
        const std::string name = fmt::format("nvmlDeviceGet{}RunningProcesses", kind);
        std::array<nvml::ProcessV2, maxProcesses> list{};
        unsigned count = list.size();
        const Return result = callFirst({(name + "_v3").c_str(), (name + "_v2").c_str()}, device,
                                        &count, list.data());
        for (unsigned i = 0; result == Return::Success && i < count; ++i)
            add(gpu, list.at(i), type);
        if (result != Return::FunctionNotFound)
            continue;
        std::array<nvml::ProcessV1, maxProcesses> first{};
        count = first.size();
        if (callFirst({name.c_str()}, device, &count, first.data()) != Return::Success)
            continue;
        for (unsigned i = 0; i < count; ++i)
            add(gpu,
                {first.at(i).pid, first.at(i).usedGpuMemory, nvml::noInstance, nvml::noInstance},
                type);
    }
}

void addInstances(Gpu& gpu, Handle device) {
    const unsigned count = number("nvmlDeviceGetMaxMigDeviceCount", device).value_or(0);
    for (unsigned i = 0; i < count; ++i) {
        Handle handle = nullptr;
        if (callFirst({"nvmlDeviceGetMigDeviceHandleByIndex"}, device, i, &handle) !=
            Return::Success)
            continue;
        gpu.instances.push_back(
            {number("nvmlDeviceGetIndex", handle).value_or(i), text("nvmlDeviceGetUUID", handle),
             text("nvmlDeviceGetName", handle),
             number("nvmlDeviceGetGpuInstanceId", handle).value_or(0),
             number("nvmlDeviceGetComputeInstanceId", handle).value_or(0), memoryOf(handle)});
    }
}

Gpu read(Handle device) {
    Gpu gpu;
    gpu.index = number("nvmlDeviceGetIndex", device).value_or(0);
    gpu.uuid = text("nvmlDeviceGetUUID", device);
    gpu.name = text("nvmlDeviceGetName", device);
    PciInfo pci{};
    if (callFirst({"nvmlDeviceGetPciInfo_v3"}, device, &pci) == Return::Success)
        gpu.busId = pci.busId;
    nvml::Utilization rates{};
    if (callFirst({"nvmlDeviceGetUtilizationRates"}, device, &rates) == Return::Success)
        gpu.utilization = rates.gpu;
    unsigned celsius = 0;
    if (callFirst({"nvmlDeviceGetTemperature"}, device, nvml::temperatureOfGpu, &celsius) ==
        Return::Success)
        gpu.temperature = celsius;
    gpu.power = number("nvmlDeviceGetPowerUsage", device);
    unsigned mode = 0;
    unsigned pending = 0;
    gpu.isMig = callFirst({"nvmlDeviceGetMigMode"}, device, &mode, &pending) == Return::Success &&
                mode == nvml::migEnabled;
    gpu.memory = memoryOf(device);
    if (const auto* table = exportTable("processes"))
        addFromTable(gpu, device, *table);
    else
        addFromSymbols(gpu, device);
    if (gpu.isMig)
        addInstances(gpu, device);
    return gpu;
}

// NVIDIA's program ends here, and shows nothing about the GPUs that it could open.
void requirePermission(Return result, const std::string& id) {
    if (result == Return::NoPermission)
        fail(4,
             fmt::format(
                 "Unable to determine the device handle for GPU {}: Insufficient Permissions", id)
                 .c_str());
}

Handle find(const std::string& id) {
    Handle device = nullptr;
    Return result = Return::NotFound;
    if (id.find_first_not_of("0123456789") == std::string::npos)
        result = callFirst({"nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex"},
                           static_cast<unsigned>(std::atoi(id.c_str())), &device);
    else if (id.find(':') != std::string::npos)
        result = callFirst({"nvmlDeviceGetHandleByPciBusId_v2", "nvmlDeviceGetHandleByPciBusId"},
                           id.c_str(), &device);
    else
        result = callFirst({"nvmlDeviceGetHandleByUUID"}, id.c_str(), &device);
    requirePermission(result, id);
    if (result != Return::Success)
        fail(6, "No devices were found");
    return device;
}

std::string versionOfCuda() {
    int version = 0;
    if (callFirst({"nvmlSystemGetCudaDriverVersion_v2", "nvmlSystemGetCudaDriverVersion"},
                  &version) != Return::Success)
        return "N/A";
    return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

std::string versionOfDriver() {
    std::array<char, 80> buffer{};
    callFirst({"nvmlSystemGetDriverVersion"}, buffer.data(), static_cast<unsigned>(buffer.size()));
    return buffer.data();
}

std::string mocked(const char* variable, const std::string& value) {
    const char* mock = std::getenv(variable);
    return mock == nullptr ? value : mock;
}

} // namespace

Machine walk(const std::optional<std::string>& ids) {
    if (library() == nullptr)
        fail(12, "NVIDIA-SMI couldn't find libnvidia-ml.so library in your system.");
    if (callFirst({"nvmlInit_v2", "nvmlInit"}) != Return::Success)
        fail(9, "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.");
    Machine machine;
    machine.driver = mocked("GENV_MOCK_DRIVER_VERSION", versionOfDriver());
    machine.cuda = mocked("GENV_MOCK_CUDA_VERSION", versionOfCuda());
    callFirst({"nvmlDeviceGetCount_v2", "nvmlDeviceGetCount"}, &machine.count);
    if (!ids) {
        for (unsigned i = 0; i < machine.count; ++i) {
            Handle device = nullptr;
            const Return result = callFirst(
                {"nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex"}, i, &device);
            requirePermission(result, std::to_string(i));
            if (result == Return::Success)
                machine.gpus.push_back(read(device));
        }
    } else {
        for (std::size_t at = 0; at <= ids->size();) {
            const std::size_t end = std::min(ids->find(',', at), ids->size());
            machine.gpus.push_back(read(find(ids->substr(at, end - at))));
            at = end + 1;
        }
    }
    if (machine.gpus.empty())
        fail(6, "No devices were found");
    callFirst({"nvmlShutdown"});
    return machine;
}

} // namespace genv::standin
