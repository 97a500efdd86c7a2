// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/gpu/nvml_sampler.hpp"

#include "core/text.hpp"
#include "service/gpu/drm_nodes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <iterator>
#include <limits>
#include <system_error>
#include <utility>

namespace genv::service {

namespace {

using nvml::Return;

// The driver as a whole does not work.
struct DriverFailure {
    Return result;
};

// One GPU does not work.
struct GpuFailure {
    Return result;
};

// Bounds that stop loops which a broken driver could otherwise continue forever.
constexpr unsigned maxEvents = 4096;
constexpr unsigned maxMigInstances = 64;
// NVML samples each process about once a second.
constexpr std::chrono::seconds utilizationWindow{2};
constexpr std::size_t maxForeignTextLength = 200;
constexpr auto largestAmount = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
constexpr auto largestPid = static_cast<core::Pid>(std::numeric_limits<std::int32_t>::max());

std::string showable(std::string_view foreign) {
    return core::escaped(foreign, maxForeignTextLength);
}

template <std::size_t N>
bool isOneOf(Return result, const std::array<Return, N>& results) {
    return std::find(results.begin(), results.end(), result) != results.end();
}

bool isMissingDriver(Return result) {
    return result == Return::DriverNotLoaded || result == Return::LibraryNotFound;
}

// Returns whether the device merely lacks the requested value, which says nothing about its health.
bool isAbsence(Return result) {
    constexpr std::array absences{Return::NotSupported,     Return::NoPermission,
                                  Return::InvalidArgument,  Return::NotFound,
                                  Return::FunctionNotFound, Return::ArgumentVersionMismatch,
                                  Return::NotReady};
    return isOneOf(result, absences);
}

// Returns whether the driver reports that a GPU is gone, rather than that it did not answer.
bool isLoss(Return result) {
    constexpr std::array losses{Return::GpuIsLost, Return::ResetRequired, Return::GpuNotFound};
    return isOneOf(result, losses);
}

// Returns whether a call about a GPU returned its value. Throws if the result means that the GPU or
// the driver does not work.
bool succeeded(Return result) {
    constexpr std::array ofDriver{Return::Uninitialized,   Return::DriverNotLoaded,
                                  Return::LibraryNotFound, Return::LibRmVersionMismatch,
                                  Return::Memory,          Return::InsufficientResources};
    if (isLoss(result))
        throw GpuFailure{result};
    if (isOneOf(result, ofDriver))
        throw DriverFailure{result};
    return result == Return::Success;
}

// Requires a value without which a GPU cannot be used.
void require(Return result) {
    if (!succeeded(result))
        throw GpuFailure{result};
}

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

std::uint32_t readInstance(const NvmlFunction<nvml::Device, unsigned*>& function,
                           nvml::Device device) {
    unsigned id = nvml::noInstance;
    return succeeded(function(device, &id)) ? id : nvml::noInstance;
}

} // namespace

NvmlSampler::NvmlSampler(std::string library, std::filesystem::path gpuFolder,
                         std::filesystem::path proc, std::filesystem::path sys)
    : libraryName_(std::move(library)), gpuFolder_(std::move(gpuFolder)), nodes_(std::move(proc)),
      sys_(std::move(sys)) {}

NvmlSampler::~NvmlSampler() {
    stop();
}

NvmlAnswer NvmlSampler::sample() {
    try {
        if (started_ && (!listing_ || listing_ != listGpus())) {
            drainEvents();
            stop();
        }
        if (!started_)
            start();
        return report();
    } catch (const NvmlNotLoaded& error) {
        return NvmlNoDriver{showable(error.what())};
    } catch (const DriverFailure& failure) {
        stop();
        const std::string reason = showable(library_->describe(failure.result));
        if (isMissingDriver(failure.result))
            return NvmlNoDriver{reason};
        return NvmlFailure{reason};
    }
}

NvmlSampler::Listing NvmlSampler::listGpus() const {
    std::error_code error;
    std::set<std::string> names;
    for (std::filesystem::directory_iterator it(gpuFolder_, error), end; !error && it != end;
         it.increment(error))
        names.insert(it->path().filename());
    return error ? Listing{} : Listing{std::move(names)};
}

void NvmlSampler::start() {
    if (!library_)
        library_ = std::make_unique<NvmlLibrary>(libraryName_);
    // List before the driver does. A GPU that appears in between is found at the next sample.
    listing_ = listGpus();
    const Return result = library_->init();
    if (result != Return::Success)
        throw DriverFailure{result};
    started_ = true;
    unsigned gpuCount = 0;
    if (library_->deviceCount(&gpuCount) == Return::Success)
        registerForEvents(gpuCount);
}

void NvmlSampler::stop() {
    if (!started_)
        return;
    if (events_ != nullptr)
        library_->freeEventSet(std::exchange(events_, nullptr));
    entries_.clear();
    library_->shutdown();
    started_ = false;
}

// The driver reports events to event sets, for each GPU separately. A driver or a GPU that does not
// support events is still sampled.
void NvmlSampler::registerForEvents(unsigned gpuCount) {
    if (library_->createEventSet(&events_) != Return::Success) {
        events_ = nullptr;
        return;
    }
    for (unsigned index = 0; index < std::min<std::size_t>(gpuCount, maxDevices); ++index) {
        nvml::Device gpu = nullptr;
        if (library_->deviceByIndex(index, &gpu) == Return::Success)
            library_->registerEvents(gpu, nvml::eventXidCriticalError, events_);
    }
}

void NvmlSampler::drainEvents() {
    if (events_ == nullptr)
        return;
    for (unsigned i = 0; i < maxEvents; ++i) {
        nvml::EventData event{nullptr, 0, 0, nvml::noInstance, nvml::noInstance};
        if (library_->waitForEvent(events_, &event, 0) != Return::Success)
            return;
        if (event.eventType == nvml::eventXidCriticalError)
            noteXid(event);
    }
}

void NvmlSampler::noteXid(const nvml::EventData& event) {
    const auto xid = static_cast<std::uint32_t>(event.eventData);
    if (core::isApplicationXid(xid))
        return;
    // An event without an instance concerns every instance.
    const auto concerns = [](std::uint32_t reported, std::uint32_t own) {
        return reported == nvml::noInstance || own == nvml::noInstance || reported == own;
    };
    for (const Entry& entry : entries_) {
        if (entry.gpu == event.device && concerns(event.gpuInstanceId, entry.gpuInstance) &&
            concerns(event.computeInstanceId, entry.computeInstance))
            unreportedXids_[entry.device.uuid] = xid;
    }
}

NvmlReport NvmlSampler::report() {
    NvmlReport report;
    unsigned gpuCount = 0;
    const Return result = library_->deviceCount(&gpuCount);
    if (result != Return::Success || gpuCount > maxDevices)
        throw DriverFailure{result != Return::Success ? result : Return::Unknown};
    report.gpuCount = gpuCount;
    report.driverVersion = readDriverVersion();
    entries_.clear();
    std::map<unsigned, Return> failures;
    for (unsigned index = 0; index < gpuCount; ++index) {
        try {
            std::vector<Entry> entries = readGpu(index);
            std::vector<core::DeviceUse> uses;
            for (Entry& entry : entries)
                std::ranges::move(readUses(entry), std::back_inserter(uses));
            std::ranges::move(entries, std::back_inserter(entries_));
            std::ranges::move(uses, std::back_inserter(report.uses));
        } catch (const GpuFailure& failure) {
            report.failed.push_back({index, isLoss(failure.result)});
            failures.emplace(index, failure.result);
        }
    }
    logFailures(std::move(failures));
    // Drain the events last. An event can be read only once, and any call before this one might
    // hang.
    drainEvents();
    for (const Entry& entry : entries_) {
        report.devices.push_back(entry.device);
        if (const auto xid = unreportedXids_.find(entry.device.uuid); xid != unreportedXids_.end())
            report.devices.back().xid = xid->second;
    }
    unreportedXids_.clear();
    report.nodes = readDriverNodes();
    return report;
}

// Names the nodes of the devices by the indices of this sample.
std::vector<core::DriverNode> NvmlSampler::readDriverNodes() const {
    std::vector<core::DriverNode> nodes = nodes_.ofDriver();
    std::map<std::string, unsigned> gpus;
    std::set<core::DeviceNode> named;
    const auto add = [&](const core::DeviceNode& node, std::string name) {
        if (named.insert(node).second)
            nodes.push_back({node, std::move(name)});
    };
    for (const Entry& entry : entries_) {
        const NvmlDevice& device = entry.device;
        if (!device.pciAddress.empty())
            gpus.emplace(device.pciAddress, device.gpu);
        if (!device.nodes.empty())
            add(device.nodes[0], fmt::format("GPU {}", device.gpu));
        if (device.nodes.size() < 3)
            continue;
        add(device.nodes[1],
            fmt::format("MIG instance {} of GPU {}", entry.gpuInstance, device.gpu));
        add(device.nodes[2], fmt::format("MIG instance {}/{} of GPU {}", entry.gpuInstance,
                                         entry.computeInstance, device.gpu));
    }
    for (core::DriverNode& node : findDrmNodes(sys_)) {
        if (const auto gpu = gpus.find(node.pciAddress); gpu != gpus.end())
            node.name += fmt::format(" of GPU {}", gpu->second);
        nodes.push_back(std::move(node));
    }
    return nodes;
}

std::string NvmlSampler::readDriverVersion() const {
    std::array<char, nvml::driverVersionBufferSize> buffer{};
    if (library_->driverVersion(buffer.data(), static_cast<unsigned>(buffer.size())) !=
        Return::Success)
        return {};
    return showable({buffer.begin(), std::find(buffer.begin(), buffer.end(), '\0')});
}

// Standard error is the service's log. It reports each failure of a GPU once, whereas every reply
// reports it.
void NvmlSampler::logFailures(std::map<unsigned, Return> failures) {
    for (const auto& [index, result] : failures) {
        const auto reported = failures_.find(index);
        if (reported == failures_.end() || reported->second != result)
            fmt::print(stderr, "genv-nvml: GPU {} does not work: {}\n", index,
                       showable(library_->describe(result)));
    }
    failures_ = std::move(failures);
}

// Returns the devices of a GPU: the GPU itself or its MIG instances.
std::vector<NvmlSampler::Entry> NvmlSampler::readGpu(unsigned index) const {
    nvml::Device gpu = nullptr;
    require(library_->deviceByIndex(index, &gpu));
    if (isInMigMode(gpu))
        return readMigInstances(index, gpu);
    Entry entry;
    entry.handle = gpu;
    entry.gpu = gpu;
    entry.device.gpu = index;
    readDevice(entry);
    return {std::move(entry)};
}

bool NvmlSampler::isInMigMode(nvml::Device gpu) const {
    unsigned current = 0;
    unsigned pending = 0;
    const Return result = library_->migMode(gpu, &current, &pending);
    if (isAbsence(result))
        return false;
    // If the GPU were mistaken for a whole GPU once, its instances would disappear.
    require(result);
    return current == nvml::migEnabled;
}

std::vector<NvmlSampler::Entry> NvmlSampler::readMigInstances(unsigned index,
                                                              nvml::Device gpu) const {
    unsigned count = 0;
    require(library_->migCount(gpu, &count));
    std::vector<Entry> entries;
    for (unsigned mig = 0; mig < std::min(count, maxMigInstances); ++mig) {
        Entry entry;
        const Return result = library_->migByIndex(gpu, mig, &entry.handle);
        if (result == Return::NotFound || result == Return::InvalidArgument)
            continue; // the indices have gaps
        require(result);
        entry.gpu = gpu;
        entry.gpuInstance = readInstance(library_->gpuInstanceId, entry.handle);
        entry.computeInstance = readInstance(library_->computeInstanceId, entry.handle);
        entry.device.gpu = index;
        entry.device.mig = mig;
        readDevice(entry);
        entries.push_back(std::move(entry));
    }
    return entries;
}

void NvmlSampler::readDevice(Entry& entry) const {
    Return result{};
    entry.device.uuid = readText(library_->uuid, entry.handle, result);
    require(result);
    // A device without a trustworthy UUID cannot be distinguished from others.
    if (!isDeviceUuid(entry.device.uuid))
        throw GpuFailure{Return::Unknown};
    entry.device.model = showable(readText(library_->name, entry.handle, result));
    if (!succeeded(result) || entry.device.model.empty())
        entry.device.model = "unknown";
    readMemory(entry);
    readSensors(entry);
    readNodes(entry);
    readPciAddress(entry);
}

void NvmlSampler::readNodes(Entry& entry) const {
    unsigned minor = 0;
    if (!succeeded(library_->minor(entry.gpu, &minor)))
        return;
    entry.device.nodes = entry.device.mig
                             ? nodes_.ofInstance(minor, entry.gpuInstance, entry.computeInstance)
                             : nodes_.ofGpu(minor);
}

void NvmlSampler::readPciAddress(Entry& entry) const {
    constexpr unsigned maxBus = 0xff;
    constexpr unsigned maxDevice = 0x1f;
    nvml::PciInfo pci{};
    if (succeeded(library_->pciInfo(entry.gpu, &pci)) && pci.bus <= maxBus &&
        pci.device <= maxDevice)
        entry.device.pciAddress =
            fmt::format("{:04x}:{:02x}:{:02x}.0", pci.domain, pci.bus, pci.device);
}

void NvmlSampler::readMemory(Entry& entry) const {
    nvml::MemoryV2 memory{};
    memory.version = nvml::memoryV2Version;
    if (!succeeded(library_->memoryV2(entry.handle, &memory))) {
        nvml::MemoryV1 older{};
        const Return result = library_->memoryV1(entry.handle, &older);
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

void NvmlSampler::readSensors(Entry& entry) const {
    core::DeviceReading& reading = entry.device.reading;
    nvml::Utilization utilization{};
    if (succeeded(library_->utilization(entry.handle, &utilization)) && utilization.gpu <= 100)
        reading.utilizationPercent = utilization.gpu;
    unsigned celsius = 0;
    if (succeeded(library_->temperature(entry.handle, nvml::temperatureOfGpu, &celsius)) &&
        celsius <= 1000)
        reading.temperatureCelsius = static_cast<std::int32_t>(celsius);
    unsigned milliwatts = 0;
    if (succeeded(library_->power(entry.handle, &milliwatts)))
        reading.powerMilliwatts = milliwatts;
    unsigned limit = 0;
    if (succeeded(library_->powerLimit(entry.handle, &limit)))
        reading.powerLimitMilliwatts = limit;
}

std::vector<core::DeviceUse> NvmlSampler::readUses(Entry& entry) const {
    const NvmlLibrary& nvml = *library_;
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
    std::vector<core::DeviceUse> uses;
    for (const auto& [pid, memory] : used) {
        if (pid > 0 && pid <= largestPid)
            uses.push_back({pid, entry.device.uuid, memory});
    }
    if (!uses.empty())
        readUtilizations(entry, uses);
    return uses;
}

// A process without a sample used none of the GPU's time.
void NvmlSampler::readUtilizations(const Entry& entry, std::vector<core::DeviceUse>& uses) const {
    const auto since = std::chrono::duration_cast<std::chrono::microseconds>(
        (std::chrono::system_clock::now() - utilizationWindow).time_since_epoch());
    NvmlUtilizations utilizations;
    if (!succeeded(service::readUtilizations(
            *library_, entry.handle, static_cast<std::uint64_t>(since.count()), utilizations)))
        return;
    for (core::DeviceUse& use : uses) {
        const auto found = utilizations.find(use.pid);
        const std::uint32_t percent = found == utilizations.end() ? 0 : found->second;
        if (percent <= 100)
            use.utilizationPercent = percent;
    }
}

// Returns an empty list if the driver cannot list these processes; `result` then tells why.
std::vector<NvmlProcess> NvmlSampler::readProcesses(const NvmlProcessVersions& versions,
                                                    const Entry& entry, Return& result) const {
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
