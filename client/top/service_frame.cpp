// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/top/service_frame.hpp"

#include "client/top/cell_text.hpp"
#include "core/parking/parking_sentences.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string_view>

namespace genv::top {

namespace {

constexpr std::chrono::seconds oldSample{15};

using ById = std::map<std::string_view, std::reference_wrapper<const genv::Environment>>;

ById byId(const Machine& machine) {
    ById environments;
    for (const genv::Environment& environment : machine.environments)
        environments.emplace(environment.id, environment);
    return environments;
}

GpuHolder holderOf(const Attachment& attachment, const ById& environments) {
    GpuHolder holder;
    holder.environment = attachment.environment;
    holder.shareBytes = attachment.shareBytes;
    holder.since = attachment.since;
    const auto found = environments.find(attachment.environment);
    if (found == environments.end())
        return holder; // it ended at this very moment
    const genv::Environment& environment = found->second;
    holder.name = environment.configuration.name;
    holder.user = environment.user;
    holder.uid = environment.uid;
    holder.isLingering = environment.lingering;
    holder.parent = environment.parent;
    const auto device =
        std::ranges::find(environment.attached, attachment.device, &AttachedDevice::device);
    holder.expires = device == environment.attached.end() ? environment.expires : device->expires;
    if (environment.parking.state != "active")
        holder.parking = environment.parking.state;
    holder.isOnLoan = environment.preemptible != "no";
    return holder;
}

Gpu gpuOf(const DeviceState& state, const ById& environments) {
    Gpu gpu;
    gpu.index = state.device.index;
    gpu.label = std::to_string(gpu.index);
    gpu.uuid = state.device.uuid;
    gpu.model = state.device.model;
    gpu.pciAddress = state.pciAddress;
    gpu.health = state.health;
    gpu.reservedFor = state.reservedFor;
    gpu.isFree = state.isFree;
    gpu.unaccountedBytes = state.unaccountedMemoryBytes;
    gpu.lockHolder = state.lockHolder;
    if (state.device.totalMemoryBytes > 0)
        gpu.totalMemoryBytes = state.device.totalMemoryBytes;
    gpu.usedMemoryBytes = state.usedMemoryBytes;
    gpu.sensors = state.sensors;
    gpu.sampledAt = state.sampledAt;
    for (const Attachment& attachment : state.attachments) {
        GpuHolder holder = holderOf(attachment, environments);
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

std::string takingText(const Taking& taking) {
    std::vector<core::TakenFrom> victims;
    for (const TakenEnvironment& each : taking.environments)
        victims.push_back({each.id, each.name, each.user, core::Bytes{each.bytesToMove}});
    return core::describeTaking(victims, taking.devices,
                                std::max(std::chrono::ceil<std::chrono::seconds>(taking.estimate),
                                         std::chrono::seconds{1}));
}

// Returns the taking of a request, the quota that it waits for, or its expected start.
std::string reasonOf(const WaitingRequest& waiting, Time now) {
    const QueueDescription& request = waiting.description;
    if (waiting.taking)
        return takingText(*waiting.taking);
    if (request.hold)
        return fmt::format("quota ({})", request.hold->limit);
    std::string start =
        request.expectedStart ? "about " + momentOf(*request.expectedStart, now) : "";
    if (!waiting.resumes)
        return start;
    return start.empty() ? "goes on" : "goes on " + start;
}

Waiter waiterOf(const WaitingRequest& waiting, Time now, const ById& environments) {
    const QueueDescription& request = waiting.description;
    const QueueEntry& entry = request.entry;
    Waiter waiter;
    waiter.ticket = entry.ticket;
    waiter.place = request.position;
    waiter.reason = reasonOf(waiting, now);
    waiter.environment = entry.environment;
    waiter.uid = entry.uid;
    waiter.user = request.user;
    waiter.wanted = fmt::format("{} GPU{}", entry.gpus, entry.gpus == 1 ? "" : "s");
    waiter.since = entry.since;
    if (const auto found = environments.find(entry.environment); found != environments.end()) {
        waiter.name = found->second.get().configuration.name;
    }
    return waiter;
}

std::vector<Parked> parkedEnvironments(const ServiceView& view) {
    std::vector<Parked> all;
    for (const genv::Environment& environment : view.machine.environments) {
        const ParkingState& parking = environment.parking;
        if (parking.state == "active")
            continue;
        Parked parked;
        parked.environment = environment.id;
        parked.key = static_cast<std::uint64_t>(environment.created.time_since_epoch().count());
        parked.name = environment.configuration.name;
        parked.user = environment.user;
        parked.uid = environment.uid;
        parked.state = parking.state;
        for (const ParkedDevice& device : parking.devices)
            parked.gpus.push_back(device.device);
        if (parked.gpus.empty())
            parked.gpus = environment.devices;
        parked.memoryBytes = parking.memoryBytes;
        parked.movedBytes = parking.movedBytes;
        parked.bytesToMove = parking.bytesToMove;
        parked.since = parking.since;
        parked.problem = parking.problem;
        parked.reason = parking.reason;
        parked.takenBy = parking.takenBy;
        for (const WaitingRequest& request : view.queue) {
            if (request.resumes && request.description.entry.environment == environment.id)
                parked.expected = request.description.expectedStart;
        }
        all.push_back(std::move(parked));
    }
    return all;
}

std::vector<OwnEnvironment> ownEnvironments(const Machine& machine, const Viewer& observer) {
    std::vector<OwnEnvironment> own;
    for (const genv::Environment& environment : machine.environments) {
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

Frame frameOf(const ServiceView& view, const HistoryStore& history, const Viewer& observer,
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
    for (const DeviceState& state : view.machine.devices) {
        frame.gpus.push_back(gpuOf(state, environments));
        frame.gpus.back().history = history.of(state.device.index, now);
    }
    for (const ProcessDescription& description : view.processes)
        frame.processes.push_back(processOf(description));
    for (const WaitingRequest& request : view.queue)
        frame.waiters.push_back(waiterOf(request, now, environments));
    frame.parked = parkedEnvironments(view);
    frame.own = ownEnvironments(view.machine, observer);
    frame.trouble = troubleOf(frame);
    if (frame.trouble.empty() && !view.processTrouble.empty())
        frame.trouble = "The processes are not known: " + view.processTrouble;
    return frame;
}

} // namespace genv::top
