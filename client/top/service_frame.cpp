// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/top/service_frame.hpp"

#include "client/top/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string_view>

namespace genv::top {

namespace {

constexpr std::chrono::seconds oldSample{15};

using ById = std::map<std::string_view, std::reference_wrapper<const MachineEnvironment>>;

ById byId(const Machine& machine) {
    ById environments;
    for (const MachineEnvironment& entry : machine.environments)
        environments.emplace(entry.environment.id, entry);
    return environments;
}

Holder holderOf(const Attachment& attachment, const ById& environments) {
    Holder holder;
    holder.environment = attachment.environment;
    holder.shareBytes = attachment.shareBytes;
    holder.since = attachment.since;
    const auto found = environments.find(attachment.environment);
    if (found == environments.end())
        return holder; // it ended at this very moment
    const MachineEnvironment& entry = found->second;
    holder.name = entry.environment.configuration.name;
    holder.user = entry.environment.user;
    holder.uid = entry.environment.uid;
    holder.isLingering = entry.environment.lingering;
    holder.parent = entry.parent;
    const auto device =
        std::ranges::find(entry.attached, attachment.device, &AttachedDevice::device);
    holder.expires = device == entry.attached.end() ? entry.environment.expires : device->expires;
    return holder;
}

Gpu gpuOf(const MachineDevice& device, const ById& environments) {
    const DeviceState& state = device.state;
    Gpu gpu;
    gpu.index = state.device.index;
    gpu.label = std::to_string(gpu.index);
    gpu.uuid = state.device.uuid;
    gpu.model = state.device.model;
    gpu.pciAddress = device.pciAddress;
    gpu.health = state.health;
    gpu.reservedFor = device.reservedFor;
    gpu.lockHolder = state.lockHolder;
    if (state.device.totalMemoryBytes > 0)
        gpu.totalMemoryBytes = state.device.totalMemoryBytes;
    gpu.usedMemoryBytes = state.usedMemoryBytes;
    gpu.utilizationPercent = state.utilizationPercent;
    gpu.temperatureCelsius = state.temperatureCelsius;
    gpu.powerMilliwatts = state.powerMilliwatts;
    gpu.powerLimitMilliwatts = device.powerLimitMilliwatts;
    gpu.sampledAt = state.sampledAt;
    for (const Attachment& attachment : state.attachments) {
        Holder holder = holderOf(attachment, environments);
        (holder.parent ? gpu.parts : gpu.holders).push_back(std::move(holder));
    }
    return gpu;
}

Process processOf(const ProcessDescription& description) {
    Process process;
    process.pid = description.pid;
    process.uid = description.uid;
    process.user = description.user;
    process.program = description.name;
    process.environment = description.environment;
    process.started = description.started;
    for (const ProcessUse& use : description.uses) {
        process.gpus.push_back(use.device);
        if (use.usedMemoryBytes)
            process.memoryBytes = process.memoryBytes.value_or(0) + *use.usedMemoryBytes;
        if (use.utilizationPercent)
            process.utilizationPercent =
                std::max(process.utilizationPercent.value_or(0), *use.utilizationPercent);
    }
    return process;
}

// Returns the quota that a request waits for, or when it is expected to start.
std::string reasonOf(const QueueDescription& request, Time now) {
    if (request.hold)
        return fmt::format("quota ({})", request.hold->limit);
    return request.expectedStart ? "about " + momentOf(*request.expectedStart, now) : "";
}

Waiter waiterOf(const QueueDescription& request, Time now, const ById& environments) {
    const QueueEntry& entry = request.entry;
    Waiter waiter;
    waiter.ticket = entry.ticket;
    waiter.place = request.position;
    waiter.reason = reasonOf(request, now);
    waiter.environment = entry.environment;
    waiter.uid = entry.uid;
    waiter.user = request.user;
    waiter.wanted = fmt::format("{} GPU{}", entry.gpus, entry.gpus == 1 ? "" : "s");
    waiter.since = entry.since;
    if (const auto found = environments.find(entry.environment); found != environments.end()) {
        waiter.name = found->second.get().environment.configuration.name;
    }
    return waiter;
}

std::vector<OwnEnvironment> ownEnvironments(const Machine& machine, const Observer& observer) {
    std::vector<OwnEnvironment> own;
    for (const MachineEnvironment& entry : machine.environments) {
        const genv::Environment& environment = entry.environment;
        if (environment.uid != observer.uid || environment.lingering)
            continue;
        const auto& named = observer.environment;
        own.push_back(
            {environment.id, environment.configuration.name,
             named && named->id == environment.id &&
                 client::standingOf(*named, environment, observer.uid) == client::Standing::Own});
    }
    return own;
}

// Marks old readings, because they may differ from the current state.
std::string troubleOf(const Frame& frame) {
    std::optional<Time> oldest;
    for (const Gpu& gpu : frame.gpus) {
        if (gpu.sampledAt && gpu.health != "lost")
            oldest = std::min(oldest.value_or(*gpu.sampledAt), *gpu.sampledAt);
    }
    if (!oldest || frame.when - *oldest < oldSample)
        return {};
    return fmt::format("The driver does not answer: readings are {} old",
                       spanBetween(*oldest, frame.when));
}

} // namespace

Frame frameOf(const ServiceView& view, const HistoryStore& history, const Observer& observer,
              Time now) {
    const ById environments = byId(view.machine);
    Frame frame;
    frame.when = now;
    frame.host = observer.host;
    frame.driver = view.machine.driverVersion;
    frame.isolation = view.machine.isolation;
    frame.uid = observer.uid;
    frame.environments = view.machine.environments.size();
    frame.isEmpty = false;
    for (const MachineDevice& device : view.machine.devices) {
        frame.gpus.push_back(gpuOf(device, environments));
        if (const auto condition = view.conditions.find(device.state.device.index);
            condition != view.conditions.end()) {
            frame.gpus.back().isFree = condition->second.isFree;
            frame.gpus.back().unaccountedBytes = condition->second.unaccountedMemoryBytes;
        }
        frame.gpus.back().history = history.of(device.state.device.index, now);
    }
    for (const ProcessDescription& description : view.processes)
        frame.processes.push_back(processOf(description));
    for (const QueueDescription& request : view.queue)
        frame.waiters.push_back(waiterOf(request, now, environments));
    frame.own = ownEnvironments(view.machine, observer);
    frame.trouble = troubleOf(frame);
    if (frame.trouble.empty() && !view.processTrouble.empty())
        frame.trouble = "The processes are not known: " + view.processTrouble;
    return frame;
}

} // namespace genv::top
