// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/gpu/nvml_reader.hpp"

#include "service/gpu/nvml_results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <map>
#include <optional>
#include <utility>

namespace genv::service {

namespace {

using nvml::Return;

// A bound that stops a loop which a broken driver could otherwise continue forever.
constexpr unsigned maxMigInstances = 64;
// NVML samples each process about once a second.
constexpr std::chrono::seconds utilizationWindow{2};
constexpr auto largestAmount = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
constexpr auto largestPid = static_cast<core::Pid>(std::numeric_limits<std::int32_t>::max());

std::string readText(const NvmlFunction<nvml::Device, char*, unsigned>& function,
                     nvml::Device device, Return& result) {
    std::array<char, std::max(nvml::uuidBufferSize, nvml::nameBufferSize)> buffer{};
    result = function(device, buffer.data(), static_cast<unsigned>(buffer.size()));
    // The driver may not have terminated the text.
    return {buffer.begin(), std::find(buffer.begin(), buffer.end(), '\0')};
}

using UsesByProcess = std::map<core::Pid, std::optional<core::Bytes>>;

// One process may be in several lists, such as a client of MPS, and have several contexts. Each
// entry then has the memory of the whole process.
void add(const std::vector<NvmlProcess>& processes, UsesByProcess& uses) {
    for (const NvmlProcess& process : processes) {
        auto& memory = uses[process.pid];
        memory = std::max(memory, process.usedMemory);
    }
}

// Returns the used memory that belongs to none of these processes. Nothing is known about it if the
// memory of one of them is unknown.
std::optional<core::Bytes> unaccountedIn(const NvmlDevice& device, const UsesByProcess& uses) {
    std::optional<core::Bytes> rest = device.reading.usedMemory;
    for (const auto& [pid, memory] : uses) {
        if (!rest || !memory)
            return std::nullopt;
        rest = *rest - std::min(*rest, *memory);
    }
    return rest;
}

// Calls a function that tells one number of a device. Returns nothing if the driver has no such
// function, or no such number.
std::optional<unsigned> readNumber(const NvmlLibrary& library, const char* function,
                                   nvml::Device device) {
    unsigned number = 0;
    const Return result = library.function<nvml::Device, unsigned*>(function)(device, &number);
    return succeeded(result) ? std::optional(number) : std::nullopt;
}

} // namespace

// Returns the devices of a GPU: the GPU itself or its MIG instances.
std::vector<NvmlEntry> NvmlReader::readGpu(unsigned index) const {
    nvml::Device gpu = nullptr;
    require(library_.deviceByIndex(index, &gpu));
    if (isInMigMode(gpu))
        return readMigInstances(index, gpu);
    NvmlEntry entry;
    entry.handle = gpu;
    entry.gpu = gpu;
    entry.device.gpu = index;
    readDevice(entry);
    return {std::move(entry)};
}

bool NvmlReader::isInMigMode(nvml::Device gpu) const {
    unsigned current = 0;
    unsigned pending = 0;
    const Return result = library_.migMode(gpu, &current, &pending);
    if (isAbsence(result))
        return false;
    // If the GPU were mistaken for a whole GPU once, its instances would disappear.
    require(result);
    return current == nvml::migEnabled;
}

std::vector<NvmlEntry> NvmlReader::readMigInstances(unsigned index, nvml::Device gpu) const {
    unsigned count = 0;
    require(library_.migCount(gpu, &count));
    std::vector<NvmlEntry> entries;
    for (unsigned mig = 0; mig < std::min(count, maxMigInstances); ++mig) {
        NvmlEntry entry;
        const Return result = library_.migByIndex(gpu, mig, &entry.handle);
        if (result == Return::NotFound || result == Return::InvalidArgument)
            continue; // the indices have gaps
        require(result);
        entry.gpu = gpu;
        entry.gpuInstance = readNumber(library_, "nvmlDeviceGetGpuInstanceId", entry.handle)
                                .value_or(nvml::noInstance);
        entry.computeInstance = readNumber(library_, "nvmlDeviceGetComputeInstanceId", entry.handle)
                                    .value_or(nvml::noInstance);
        entry.device.gpu = index;
        entry.device.mig = mig;
        readDevice(entry);
        entries.push_back(std::move(entry));
    }
    return entries;
}

void NvmlReader::readDevice(NvmlEntry& entry) const {
    Return result{};
    entry.device.uuid = readText(library_.uuid, entry.handle, result);
    require(result);
    // A device without a trustworthy UUID cannot be distinguished from others.
    if (!isDeviceUuid(entry.device.uuid))
        throw GpuFailure{Return::Unknown};
    entry.device.model = showable(readText(library_.name, entry.handle, result));
    if (!succeeded(result) || entry.device.model.empty())
        entry.device.model = "unknown";
    readMemory(entry);
    readSensors(entry);
    readNodes(entry);
    readPciAddress(entry);
}

void NvmlReader::readNodes(NvmlEntry& entry) const {
    const auto minor = readNumber(library_, "nvmlDeviceGetMinorNumber", entry.gpu);
    if (!minor)
        return;
    entry.device.nodes = entry.device.mig
                             ? nodes_.ofInstance(*minor, entry.gpuInstance, entry.computeInstance)
                             : nodes_.ofGpu(*minor);
}

void NvmlReader::readPciAddress(NvmlEntry& entry) const {
    constexpr unsigned maxBus = 0xff;
    constexpr unsigned maxDevice = 0x1f;
    nvml::PciInfo pci{};
    if (succeeded(library_.pciInfo(entry.gpu, &pci)) && pci.bus <= maxBus &&
        pci.device <= maxDevice)
        entry.device.pciAddress =
            fmt::format("{:04x}:{:02x}:{:02x}.0", pci.domain, pci.bus, pci.device);
}

void NvmlReader::readMemory(NvmlEntry& entry) const {
    nvml::MemoryV2 memory{};
    memory.version = nvml::memoryV2Version;
    if (!succeeded(library_.memoryV2(entry.handle, &memory))) {
        nvml::MemoryV1 older{};
        const Return result = library_.memoryV1(entry.handle, &older);
        // GPUs that share the machine's memory, such as GB10 and Jetson, have no reading of it.
        entry.device.hasUnifiedMemory = result == Return::NotSupported;
        if (isAbsence(result))
            return;
        require(result);
        memory.total = older.total;
        memory.used = older.used;
        memory.free = older.free;
    }
    if (memory.free <= largestAmount)
        entry.device.memory.free = core::Bytes{memory.free};
    if (memory.total <= largestAmount)
        entry.device.totalMemory = core::Bytes{memory.total};
    if (memory.used <= largestAmount)
        entry.device.reading.usedMemory = core::Bytes{memory.used};
}

void NvmlReader::readSensors(NvmlEntry& entry) const {
    core::DeviceReading& reading = entry.device.reading;
    nvml::Utilization utilization{};
    if (succeeded(library_.utilization(entry.handle, &utilization)) && utilization.gpu <= 100)
        reading.utilizationPercent = utilization.gpu;
    unsigned celsius = 0;
    if (succeeded(library_.temperature(entry.handle, nvml::temperatureOfGpu, &celsius)) &&
        celsius <= 1000)
        reading.temperatureCelsius = static_cast<std::int32_t>(celsius);
    reading.powerMilliwatts = readNumber(library_, "nvmlDeviceGetPowerUsage", entry.handle);
    reading.powerLimitMilliwatts =
        readNumber(library_, "nvmlDeviceGetEnforcedPowerLimit", entry.handle);
    // A MIG instance has that of its GPU.
    if (const auto mode = readNumber(library_, "nvmlDeviceGetPersistenceMode", entry.gpu))
        entry.device.persistence = *mode != 0;
}

std::vector<core::ProcessSample> NvmlReader::readUses(NvmlEntry& entry) const {
    const NvmlLibrary& nvml = library_;
    UsesByProcess used;
    Return compute{};
    add(readProcesses({{&nvml.computeProcesses, sizeof(nvml::ProcessV2)},
                       {&nvml.computeProcessesV1, sizeof(nvml::ProcessV1)}},
                      entry, compute),
        used);
    Return mps{};
    add(readProcesses({{&nvml.mpsProcesses, sizeof(nvml::ProcessV2)},
                       {&nvml.mpsProcessesV1, sizeof(nvml::ProcessV1)}},
                      entry, mps),
        used);
    // Graphics processes only account for memory: nothing judges a desktop.
    UsesByProcess all = used;
    Return graphics{};
    add(readProcesses({{&nvml.graphicsProcesses, sizeof(nvml::ProcessV2)},
                       {&nvml.graphicsProcessesV1, sizeof(nvml::ProcessV1)}},
                      entry, graphics),
        all);
    const bool areAllListed = compute == Return::Success &&
                              (graphics == Return::Success || graphics == Return::NotSupported);
    if (areAllListed)
        entry.device.memory.unaccounted = unaccountedIn(entry.device, all);
    std::vector<core::ProcessSample> uses;
    for (const auto& [pid, memory] : used) {
        if (pid > 0 && pid <= largestPid)
            uses.push_back({pid, entry.device.uuid, memory});
    }
    if (!uses.empty())
        readUtilizations(entry, uses);
    return uses;
}

// A process without a sample used none of the GPU's time.
void NvmlReader::readUtilizations(const NvmlEntry& entry,
                                  std::vector<core::ProcessSample>& uses) const {
    const auto since = std::chrono::duration_cast<std::chrono::microseconds>(
        (std::chrono::system_clock::now() - utilizationWindow).time_since_epoch());
    NvmlUtilizations utilizations;
    if (!succeeded(service::readUtilizations(
            library_, entry.handle, static_cast<std::uint64_t>(since.count()), utilizations)))
        return;
    for (core::ProcessSample& use : uses) {
        const auto found = utilizations.find(use.pid);
        const std::uint32_t percent = found == utilizations.end() ? 0 : found->second;
        if (percent <= 100)
            use.utilizationPercent = percent;
    }
}

// Returns an empty list if the driver cannot list these processes; `result` then tells why.
std::vector<NvmlProcess> NvmlReader::readProcesses(const NvmlProcessVersions& versions,
                                                   const NvmlEntry& entry, Return& result) const {
    std::vector<NvmlProcess> processes;
    result = listProcesses(versions, entry.handle, processes);
    if (isAbsence(result) && entry.gpu != entry.handle) {
        // Some drivers list the processes of all MIG instances together, under the GPU.
        result = listProcesses(versions, entry.gpu, processes);
        std::erase_if(processes, [&](const NvmlProcess& process) {
            return process.gpuInstance == nvml::noInstance ||
                   process.gpuInstance != entry.gpuInstance ||
                   process.computeInstance != entry.computeInstance;
        });
    }
    if (!isAbsence(result))
        require(result);
    return processes;
}

} // namespace genv::service
