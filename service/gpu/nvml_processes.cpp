// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/gpu/nvml_processes.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

namespace genv::service {

namespace {

constexpr std::size_t largestEntry = sizeof(nvml::ProcessDetailV1);
constexpr unsigned mostProcesses = 1U << 16U;

NvmlProcess readEntry(const unsigned char* entry, std::size_t size) {
    nvml::ProcessV2 raw{0, 0, nvml::noInstance, nvml::noInstance};
    std::memcpy(&raw, entry, std::min(size, sizeof(raw)));
    NvmlProcess process{raw.pid, std::nullopt, raw.gpuInstanceId, raw.computeInstanceId};
    if (raw.usedGpuMemory <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
        process.usedMemory = core::Bytes{raw.usedGpuMemory};
    return process;
}

nvml::Return listWith(const NvmlProcessFunction& function, std::size_t entrySize,
                      nvml::Device device, std::vector<NvmlProcess>& processes) {
    unsigned room = 128;
    for (;;) {
        // Room for the largest entries: a driver that writes larger ones than its version says
        // overruns nothing.
        std::vector<unsigned char> buffer(room * largestEntry, unwritten);
        unsigned count = room;
        const nvml::Return result = function(device, &count, buffer.data());
        if (result == nvml::Return::InsufficientSize && room < mostProcesses) {
            room = std::clamp(count, 2 * room, mostProcesses);
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
