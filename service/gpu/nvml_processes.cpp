// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/gpu/nvml_processes.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

namespace genv::service {

namespace {

constexpr std::size_t largestEntry = sizeof(nvml::ProcessDetailV1);
constexpr unsigned maxProcesses = 1U << 16U;

NvmlProcess readEntry(const unsigned char* entry, std::size_t size) {
    nvml::ProcessV2 raw{0, 0, nvml::noInstance, nvml::noInstance};
    std::memcpy(&raw, entry, std::min(size, sizeof(raw)));
    NvmlProcess process{raw.pid, std::nullopt, raw.gpuInstanceId, raw.computeInstanceId};
    if (raw.usedGpuMemory <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
        process.usedMemory = core::Bytes{raw.usedGpuMemory};
    return process;
}

// Returns the room to allocate for a list that did not fit into `room` entries and that has `count`
// entries according to the driver.
std::size_t roomFor(std::size_t count, std::size_t room) {
    return std::min<std::size_t>(std::max(count, 2 * room), maxProcesses);
}

nvml::Return listWith(const NvmlProcessFunction& function, std::size_t entrySize,
                      nvml::Device device, std::vector<NvmlProcess>& processes) {
    unsigned room = 128;
    for (;;) {
        // Allocate room for the largest entries, so that a driver that writes larger entries than
        // its version specifies does not overrun the buffer.
        std::vector<unsigned char> buffer(room * largestEntry, unwritten);
        unsigned count = room;
        const nvml::Return result = function(device, &count, buffer.data());
        if (result == nvml::Return::InsufficientSize && room < maxProcesses) {
            room = static_cast<unsigned>(roomFor(count, room));
            continue;
        }
        if (result != nvml::Return::Success)
            return result;
        if (count > room)
            return nvml::Return::Unknown;
        if (count > 0)
            entrySize = measureEntries(buffer, count).value_or(entrySize);
        for (unsigned i = 0; i < count; ++i)
            processes.push_back(readEntry(buffer.data() + i * entrySize, entrySize));
        return result;
    }
}

} // namespace

nvml::Return readUtilizations(const NvmlLibrary& nvml, nvml::Device device, std::uint64_t since,
                              NvmlUtilizations& utilizations) {
    std::vector<nvml::ProcessUtilizationSample> samples(128);
    unsigned count = 0;
    auto result = nvml::Return::InsufficientSize;
    while (result == nvml::Return::InsufficientSize) {
        count = static_cast<unsigned>(samples.size());
        result = nvml.processUtilization(device, samples.data(), &count, since);
        if (result != nvml::Return::InsufficientSize)
            break;
        if (samples.size() >= maxProcesses)
            return result;
        samples.resize(roomFor(count, samples.size()));
    }
    if (result == nvml::Return::NotFound)
        return nvml::Return::Success;
    if (result != nvml::Return::Success)
        return result;
    if (count > samples.size())
        return nvml::Return::Unknown;
    samples.resize(count);
    std::ranges::stable_sort(samples, {}, &nvml::ProcessUtilizationSample::timeStamp);
    for (const nvml::ProcessUtilizationSample& sample : samples)
        utilizations[sample.pid] = sample.smUtil;
    return result;
}

std::optional<std::size_t> measureEntries(std::span<const unsigned char> buffer,
                                          std::size_t count) {
    const auto last = std::find_if(buffer.rbegin(), buffer.rend(),
                                   [](unsigned char byte) { return byte != unwritten; });
    const auto written = static_cast<std::size_t>(buffer.rend() - last);
    for (const std::size_t size :
         {sizeof(nvml::ProcessV1), sizeof(nvml::ProcessV2), sizeof(nvml::ProcessDetailV1)}) {
        if (written == count * size)
            return size;
    }
    return std::nullopt;
}

nvml::Return listProcesses(const NvmlProcessVersions& versions, nvml::Device device,
                           std::vector<NvmlProcess>& processes) {
    auto result = nvml::Return::FunctionNotFound;
    for (auto version = versions.begin();
         version != versions.end() && result == nvml::Return::FunctionNotFound; ++version)
        result = listWith(*version->first, version->second, device, processes);
    return result;
}

} // namespace genv::service
