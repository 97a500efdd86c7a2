// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/parking/room.hpp"

#include "core/base/text.hpp"
#include "core/parking/problems.hpp"
#include "core/sentences/sentences.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace genv::core {

namespace {

/// What a device must have free beyond the memory of a process, unless nobody else uses it: a
/// restore takes a little more for a moment.
constexpr Bytes restoreMargin{256ULL * 1024 * 1024};

Bytes sumOf(const std::vector<ParkedProcess>& processes) {
    Bytes sum{0};
    for (const ParkedProcess& process : processes)
        sum = sum + process.bytes();
    return sum;
}

std::string limitProblem(Bytes wanted, Bytes taken, const std::optional<Bytes>& limit,
                         std::string_view name) {
    if (!limit || taken + wanted <= *limit)
        return {};
    return fmt::format("parking it takes {} of host memory, and the administrator allows {} in all "
                       "({}={}); resume or end another parked environment first",
                       nameMemory(wanted), nameMemory(*limit), name, formatBytes(*limit));
}

std::string groupProblem(const HostMemoryReading& reading,
                         const std::vector<ParkedProcess>& processes) {
    std::map<std::string, Bytes> wanted;
    std::map<std::string, Bytes> room;
    for (const ParkedProcess& process : processes) {
        const auto groups = reading.groups.find(process.identity);
        if (groups == reading.groups.end())
            continue;
        for (const LimitedGroup& group : groups->second) {
            wanted[group.path] = wanted[group.path] + process.bytes();
            room[group.path] = group.room;
        }
    }
    for (const auto& [path, bytes] : wanted) {
        if (bytes > room[path])
            return fmt::format("its processes would need {} of host memory, and their control "
                               "group {} has {} left (memory.max); raise that limit, or free GPU "
                               "memory first",
                               nameMemory(bytes), escaped(path), nameMemory(room[path]));
    }
    return {};
}

const DeviceSample* findDevice(const Observation& observation, const DeviceUuid& uuid) {
    const auto found = std::ranges::find_if(
        observation.devices, [&](const DeviceSample& sample) { return sample.facts.uuid == uuid; });
    return found == observation.devices.end() ? nullptr : &*found;
}

std::optional<Bytes> freeOn(const DeviceSample& sample) {
    if (sample.memory.free)
        return sample.memory.free;
    const auto total = sample.facts.knownMemory();
    if (!total || !sample.reading.usedMemory)
        return std::nullopt;
    return *sample.reading.usedMemory < *total ? *total - *sample.reading.usedMemory : Bytes{0};
}

struct OtherUse {
    Bytes bytes;
    const ObservedProcess* process = nullptr;
};

// Returns the process that uses most of a device.
std::optional<OtherUse> largestUse(const Observation& observation, const DeviceUuid& device) {
    std::optional<OtherUse> largest;
    for (const ObservedProcess& process : observation.processes) {
        for (const ComputeUse& use : process.uses) {
            const Bytes bytes = use.usedMemory.value_or(Bytes{0});
            if (use.device == device && (!largest || bytes > largest->bytes))
                largest = OtherUse{bytes, &process};
        }
    }
    return largest;
}

std::string roomProblem(const Observation& observation, const ParkedUse& use) {
    const DeviceSample* sample = findDevice(observation, use.device);
    if (sample == nullptr)
        return fmt::format("its device {} does not answer", escaped(use.device));
    if (sample->health.state == Health::State::Lost)
        return fmt::format("GPU {} is lost", sample->facts.index);
    if (sample->persistence == false)
        return persistenceProblem(observation, {use.device});
    const auto free = freeOn(*sample);
    if (!free)
        return {};
    const auto other = largestUse(observation, use.device);
    const Bytes margin = other ? restoreMargin : Bytes{0};
    if (*free >= use.bytes + margin)
        return {};
    const std::string holder = other
                                   ? fmt::format("{} of uid {} uses {}",
                                                 nameProcesses({{other->process->facts.identity.pid,
                                                                 other->process->facts.command}}),
                                                 other->process->user(), nameMemory(other->bytes))
                                   : "no process accounts for the rest";
    return fmt::format("GPU {} has {} free of the {} that are needed: {}; it goes on when there is "
                       "room",
                       sample->facts.index, nameMemory(*free), nameMemory(use.bytes), holder);
}

} // namespace

std::string hostMemoryProblem(const HostMemoryReading& reading,
                              const std::vector<ParkedProcess>& processes,
                              const OthersParked& others, const ParkingSettings& settings) {
    const Bytes wanted = sumOf(processes);
    if (wanted == Bytes{0})
        return {};
    if (!reading.failure.empty())
        return fmt::format("the host memory could not be read: {}", reading.failure);
    const Bytes kept = settings.keepMemory.of(reading.total) + others.moving;
    const Bytes room = reading.available > kept ? reading.available - kept : Bytes{0};
    if (wanted > room)
        return fmt::format("parking it takes {} of host memory, and {} may be used for that; try "
                           "again later, or free GPU memory first",
                           nameMemory(wanted), nameMemory(room));
    if (auto problem = limitProblem(wanted, others.all, settings.maxMemory, "MaxMemory");
        !problem.empty())
        return problem;
    if (auto problem =
            limitProblem(wanted, others.ofUser, settings.maxMemoryPerUser, "MaxMemoryPerUser");
        !problem.empty())
        return problem;
    return groupProblem(reading, processes);
}

std::string deviceRoomProblem(const Observation& observation, const ParkedProcess& process) {
    for (const ParkedUse& use : process.uses) {
        if (std::string problem = roomProblem(observation, use); !problem.empty())
            return problem;
    }
    return {};
}

std::string persistenceProblem(const Observation& observation,
                               const std::vector<DeviceUuid>& devices) {
    std::vector<DeviceIndex> off;
    for (const DeviceSample& sample : observation.devices) {
        if (sample.persistence == false &&
            std::ranges::find(devices, sample.facts.uuid) != devices.end())
            off.push_back(sample.facts.index);
    }
    if (off.empty())
        return {};
    return fmt::format("persistence mode is off on {}; ask an administrator to switch it on "
                       "(\"nvidia-smi -pm 1\", or nvidia-persistenced)",
                       nameGpus(off));
}

} // namespace genv::core
