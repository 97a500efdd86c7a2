// SPDX-License-Identifier: LGPL-2.1-or-later
#include "shims/nvidia_smi/seen.hpp"

#include "shims/nvidia_smi/line_text.hpp"

#include <algorithm>

namespace genv::shims::nvidia_smi {

namespace {

Memory memoryOf(const VisibleDevice& device) {
    return {device.capacityBytes(), device.usedMemoryBytes(), !device.shareBytes};
}

void add(Memory& sum, const Memory& other) {
    sum.totalBytes += other.totalBytes;
    if (sum.usedBytes && other.usedBytes)
        *sum.usedBytes += *other.usedBytes;
    else
        sum.usedBytes.reset();
}

// Returns the number after a word, as in "GPU 0: " and "Device  0: ".
std::optional<std::uint32_t> numberAfter(std::string_view line, std::string_view word) {
    const std::size_t at = line.find(word);
    if (at == std::string_view::npos)
        return std::nullopt;
    const std::string_view rest = line.substr(at + word.size());
    const auto number = parseNumber(trimmed(rest.substr(0, rest.find(':'))));
    if (!number || *number > UINT32_MAX)
        return std::nullopt;
    return static_cast<std::uint32_t>(*number);
}

} // namespace

const SeenInstance* SeenGpu::instance(std::uint64_t number) const {
    const auto found = std::find_if(instances.begin(), instances.end(),
                                    [&](const SeenInstance& i) { return i.number == number; });
    return found == instances.end() ? nullptr : &*found;
}

std::string_view uuidOfListingLine(std::string_view line) {
    constexpr std::string_view label = "(UUID: ";
    line = trimmed(line);
    const std::size_t at = line.rfind(label);
    if (at == std::string_view::npos || line.back() != ')')
        return {};
    return line.substr(at + label.size(), line.size() - at - label.size() - 1);
}

std::vector<ListedGpu> parseListing(std::string_view text) {
    std::vector<ListedGpu> gpus;
    for (const std::string_view line : split(text, "\n")) {
        const std::string_view uuid = uuidOfListingLine(line);
        if (uuid.empty())
            continue;
        if (startsWith(line, "GPU ")) {
            if (const auto index = numberAfter(line, "GPU "))
                gpus.push_back({*index, std::string(uuid), {}});
        } else if (const auto number = numberAfter(line, " Device "); number && !gpus.empty()) {
            gpus.back().instances.push_back({*number, std::string(uuid)});
        }
    }
    return gpus;
}

Seen::Seen(const View& view, const std::vector<ListedGpu>& listing) {
    for (const VisibleDevice& device : view) {
        if (isInstance(device.uuid)) {
            addInstance(device, listing);
            continue;
        }
        SeenGpu gpu{device.index, device.uuid, memoryOf(device), {}, {}};
        for (const VisibleProcess& process : device.processes)
            gpu.pids.insert(process.pid);
        gpus_.push_back(std::move(gpu));
    }
    std::sort(gpus_.begin(), gpus_.end(),
              [](const SeenGpu& one, const SeenGpu& other) { return one.index < other.index; });
}

void Seen::addInstance(const VisibleDevice& device, const std::vector<ListedGpu>& listing) {
    for (const ListedGpu& listed : listing) {
        for (const ListedGpu::Instance& instance : listed.instances) {
            if (instance.uuid != device.uuid)
                continue;
            auto gpu = std::find_if(gpus_.begin(), gpus_.end(),
                                    [&](const SeenGpu& g) { return g.uuid == listed.uuid; });
            if (gpu == gpus_.end())
                gpu = gpus_.insert(gpus_.end(), {listed.index, listed.uuid, {0, 0, false}, {}, {}});
            add(gpu->memory, memoryOf(device));
            gpu->instances.push_back({instance.number, instance.uuid, memoryOf(device)});
            for (const VisibleProcess& process : device.processes)
                gpu->pids.insert(process.pid);
            return;
        }
    }
}

const SeenGpu* Seen::byIndex(std::uint64_t index) const {
    const auto found = std::find_if(gpus_.begin(), gpus_.end(),
                                    [&](const SeenGpu& gpu) { return gpu.index == index; });
    return found == gpus_.end() ? nullptr : &*found;
}

const SeenGpu* Seen::byUuid(std::string_view uuid) const {
    const auto found = std::find_if(gpus_.begin(), gpus_.end(),
                                    [&](const SeenGpu& gpu) { return gpu.uuid == uuid; });
    return found == gpus_.end() ? nullptr : &*found;
}

bool Seen::hasInstance(std::string_view uuid) const {
    return std::any_of(gpus_.begin(), gpus_.end(), [&](const SeenGpu& gpu) {
        return std::any_of(gpu.instances.begin(), gpu.instances.end(),
                           [&](const SeenInstance& instance) { return instance.uuid == uuid; });
    });
}

bool Seen::hasProcess(std::uint64_t pid) const {
    return pid <= UINT32_MAX && std::any_of(gpus_.begin(), gpus_.end(), [&](const SeenGpu& gpu) {
               return gpu.pids.count(static_cast<std::uint32_t>(pid)) > 0;
           });
}

} // namespace genv::shims::nvidia_smi
