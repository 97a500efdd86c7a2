// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/gpu/nvml_sampler.hpp"

#include "service/gpu/drm_nodes.hpp"
#include "service/gpu/nvml_results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <iterator>
#include <system_error>
#include <utility>

namespace genv::service {

namespace {

using nvml::Return;

// A bound that stops a loop which a broken driver could otherwise continue forever.
constexpr unsigned maxEvents = 4096;

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
    for (const NvmlEntry& entry : entries_) {
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
    const NvmlReader reader(*library_, nodes_);
    std::map<unsigned, Return> failures;
    for (unsigned index = 0; index < gpuCount; ++index) {
        try {
            std::vector<NvmlEntry> entries = reader.readGpu(index);
            std::vector<core::ProcessSample> uses;
            for (NvmlEntry& entry : entries)
                std::ranges::move(reader.readUses(entry), std::back_inserter(uses));
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
    for (const NvmlEntry& entry : entries_) {
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
    for (const NvmlEntry& entry : entries_) {
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

} // namespace genv::service
