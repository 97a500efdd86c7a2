// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/objects/machine_objects.hpp"

#include "client/environment_job.hpp"
#include "client/genvctl/objects/device.hpp"
#include "client/genvctl/objects/environment.hpp"
#include "client/genvctl/objects/process.hpp"
#include "client/genvctl/objects/wait.hpp"
#include "client/genvctl/terminal/terminal_text.hpp"
#include "client/jobs/model/attempt_environment_id.hpp"
#include "dbus/contract/sensors.hpp"

#include <algorithm>
#include <utility>

namespace genv::ctl {

namespace {

std::vector<std::uint32_t> devicesOf(const ProcessDescription& process) {
    std::vector<std::uint32_t> devices;
    for (const ProcessUse& use : process.uses)
        devices.push_back(use.device);
    return devices;
}

std::vector<std::uint32_t> parkedDevices(const Environment& environment) {
    std::vector<std::uint32_t> devices;
    for (const ParkedDevice& parked : environment.parking.devices)
        devices.push_back(parked.device);
    return devices;
}

bool contains(const std::vector<std::uint32_t>& devices, std::uint32_t device) {
    return std::ranges::find(devices, device) != devices.end();
}

std::vector<std::string> idsOn(const MachineObjects::IdsByDevice& ids, std::uint32_t device) {
    const auto found = ids.find(device);
    return found == ids.end() ? std::vector<std::string>{} : found->second;
}

Json processObject(const ProcessDescription& process) {
    const MemoryInUse memory = memoryInUse({process});
    std::optional<std::uint32_t> utilization;
    for (const ProcessUse& use : process.uses)
        utilization = std::max(utilization, use.utilizationPercent);
    return object<schema::process>({{"pid", process.pid},
                                    {"uid", process.uid},
                                    {"user", process.user},
                                    {"program", orNull(process.name)},
                                    {"environment", orNull(process.environment)},
                                    {"devices", devicesOf(process)},
                                    {"used_memory_bytes", orNull(memory.begin()->second)},
                                    {"utilization_percent", orNull(utilization)},
                                    {"started", orNull(process.started)}});
}

Json quotaObject(const QueueDescription::Hold& hold) {
    return object<schema::quota>(
        {{"limit", hold.limit}, {"used", hold.used}, {"allowed", hold.allowed}});
}

Json takingObject(const Taking& taking) {
    Json environments = Json::array();
    for (const TakenEnvironment& each : taking.environments)
        environments.push_back(object<schema::environment>({{"id", each.id},
                                                            {"name", orNull(each.name)},
                                                            {"user", each.user},
                                                            {"bytes_to_move", each.bytesToMove}}));
    return object<schema::taking>({{"environments", std::move(environments)},
                                   {"devices", taking.devices},
                                   {"estimate_seconds", toJson(taking.estimate)},
                                   {"deadline", orNull(taking.deadline)}});
}

} // namespace

MemoryInUse memoryInUse(const std::vector<ProcessDescription>& processes) {
    MemoryInUse memory;
    for (const ProcessDescription& process : processes) {
        auto& sum = memory.try_emplace(process.environment.value_or(""), 0).first->second;
        for (const ProcessUse& use : process.uses)
            sum = sum && use.usedMemoryBytes ? std::optional(*sum + *use.usedMemoryBytes)
                                             : std::nullopt;
    }
    return memory;
}

std::optional<std::uint64_t> memoryOf(const std::optional<MemoryInUse>& memory,
                                      const std::string& id) {
    if (!memory)
        return std::nullopt;
    const auto found = memory->find(id);
    return found == memory->end() ? std::optional<std::uint64_t>(0) : found->second;
}

MachineObjects::MachineObjects(const MachineAnswers& answers, std::vector<std::uint32_t> gpus)
    : answers_(answers), gpus_(std::move(gpus)) {
    for (const Environment& environment : answers.machine.environments) {
        environments_.emplace(environment.id, &environment);
        for (const ParkedDevice& device : environment.parking.devices)
            parked_[device.device].push_back(environment.id);
        // The service lists the attachments of parents only: those of the nested ones are in them.
        for (const std::uint32_t device : environment.devices) {
            if (environment.parent)
                nested_[device].push_back(environment.id);
        }
    }
    for (const DeviceState& state : answers.machine.devices) {
        for (const Attachment& each : state.attachments)
            attachments_[each.environment].push_back(&each);
    }
    for (const WaitingRequest& request : answers.queue) {
        const QueueDescription& known = request.description;
        if (request.resumes && known.expectedStart)
            resumes_.emplace(known.entry.environment, *known.expectedStart);
    }
    if (answers.processes)
        memory_ = memoryInUse(*answers.processes);
}

bool MachineObjects::areChosen(const std::vector<std::uint32_t>& devices) const {
    return gpus_.empty() || std::ranges::any_of(devices, [&](std::uint32_t device) {
               return contains(gpus_, device);
           });
}

Json MachineObjects::hold(std::uint32_t index, const std::string& id) const {
    Json json = object<schema::attachment>({{"environment", id}, {"device", index}});
    const auto found = environments_.find(id);
    if (found == environments_.end())
        return json; // it ended at this very moment
    const Environment& holder = *found->second;
    const auto device = std::ranges::find(holder.attached, index, &AttachedDevice::device);
    fill<schema::attachment>(
        json,
        {{"name", orNull(holder.configuration.name)},
         {"uid", holder.uid},
         {"user", holder.user},
         {"expires", orNull(device == holder.attached.end() ? holder.expires : device->expires)},
         {"lingering", holder.lingering},
         {"preemptible", holder.preemptible},
         {"parent", orNull(holder.parent)}});
    return json;
}

Json MachineObjects::attachment(const Attachment& attachment) const {
    Json json = hold(attachment.device, attachment.environment);
    fill<schema::attachment>(json, {{"gpu_memory_bytes", orNull(attachment.shareBytes)},
                                    {"since", toJson(attachment.since)}});
    return json;
}

Json MachineObjects::device(const DeviceState& state) const {
    const std::uint32_t index = state.device.index;
    Json attachments = Json::array();
    for (const Attachment& each : state.attachments)
        attachments.push_back(attachment(each));
    for (const std::string& id : idsOn(nested_, index))
        attachments.push_back(hold(index, id));
    Json parked = Json::array();
    for (const std::string& id : idsOn(parked_, index))
        parked.push_back(hold(index, id));
    Json outside = nullptr;
    if (answers_.processes) {
        outside = Json::array();
        for (const ProcessDescription& process : *answers_.processes) {
            if (!process.environment && contains(devicesOf(process), index))
                outside.push_back(processObject(process));
        }
    }
    Json json =
        object<schema::device>({{"index", index},
                                {"uuid", orNull(state.device.uuid)},
                                {"model", orNull(state.device.model)},
                                {"pci_address", orNull(state.pciAddress)},
                                {"health", orNull(state.health)},
                                {"free", state.isFree},
                                {"reserved_for", orNull(state.reservedFor)},
                                {"locked_by", orNull(state.lockHolder)},
                                {"total_memory_bytes", orNull(state.device.totalMemoryBytes)},
                                {"used_memory_bytes", orNull(state.usedMemoryBytes)},
                                {"unaccounted_memory_bytes", state.unaccountedMemoryBytes},
                                {"sampled", orNull(state.sampledAt)},
                                {"attachments", std::move(attachments)},
                                {"parked", std::move(parked)},
                                {"outside", std::move(outside)}});
    dbus::contract::visitSensors(state.sensors, [&](const auto& name, const auto& value) {
        json.at(name.key) = orNull(value);
    });
    return json;
}

Json MachineObjects::environment(const Environment& environment) const {
    const ParkingState& parking = environment.parking;
    const auto expected = resumes_.find(environment.id);
    Json attachments = Json::array();
    if (const auto held = attachments_.find(environment.id); held != attachments_.end()) {
        for (const Attachment* each : held->second)
            attachments.push_back(attachment(*each));
    }
    for (const std::uint32_t device : environment.devices) {
        if (environment.parent)
            attachments.push_back(hold(device, environment.id));
    }
    return object<schema::environment>(
        {{"id", environment.id},
         {"uid", environment.uid},
         {"user", environment.user},
         {"name", orNull(environment.configuration.name)},
         {"job", orNull(jobOfEnvironment(environment.id))},
         {"created", toJson(environment.created)},
         {"state", parking.state},
         {"lingering", environment.lingering},
         {"pids", environment.processes},
         {"kernels", environment.kernels},
         {"parent", orNull(environment.parent)},
         {"devices", environment.devices},
         {"parked_devices", parkedDevices(environment)},
         {"attachments", std::move(attachments)},
         {"gpus", orNull(environment.configuration.gpus)},
         {"gpu_memory_bytes", orNull(environment.configuration.gpuMemoryBytes)},
         {"over_subscribable", environment.overSubscribable},
         {"preemptible", environment.preemptible},
         {"expires", orNull(environment.expires)},
         {"used_memory_bytes", orNull(memoryOf(memory_, environment.id))},
         {"parked_memory_bytes", parking.memoryBytes},
         {"moved_bytes", parking.movedBytes},
         {"bytes_to_move", parking.bytesToMove},
         {"parked_since", orNull(parking.since)},
         {"parked_reason", orNull(parking.reason)},
         {"taken_by", orNull(parking.takenBy)},
         {"expected_resume", expected == resumes_.end() ? Json(nullptr) : toJson(expected->second)},
         {"parking_problem", orNull(parking.problem)}});
}

Json MachineObjects::wait(const WaitingRequest& waiting) const {
    const QueueDescription& request = waiting.description;
    const auto found = environments_.find(request.entry.environment);
    return object<schema::wait>(
        {{"position", request.position},
         {"ticket", request.entry.ticket},
         {"environment", request.entry.environment},
         {"name",
          found == environments_.end() ? Json(nullptr) : orNull(found->second->configuration.name)},
         {"uid", request.entry.uid},
         {"user", request.user},
         {"gpus", request.entry.gpus},
         {"since", toJson(request.entry.since)},
         {"expected_start", orNull(request.expectedStart)},
         {"parent", orNull(request.parent)},
         {"preemptible", waiting.preemptible},
         {"resumes", waiting.resumes},
         {"waits_for", request.waitsFor},
         {"reason", orNull(waiting.problem)},
         {"quota", request.hold ? quotaObject(*request.hold) : Json(nullptr)},
         {"taking", waiting.taking ? takingObject(*waiting.taking) : Json(nullptr)},
         {"order", request.order},
         {"use_gpu_seconds", request.useGpuSeconds},
         {"weight", request.weight},
         {"priority", request.priority},
         {"overtakings", request.overtakings},
         {"first_since", orNull(request.firstSince)}});
}

Json MachineObjects::devices() const {
    Json all = Json::array();
    for (const DeviceState& state : answers_.machine.devices) {
        if (areChosen({state.device.index}))
            all.push_back(device(state));
    }
    return all;
}

Json MachineObjects::environments() const {
    Json all = Json::array();
    for (const Environment& each : answers_.machine.environments) {
        if (areChosen(each.devices) || areChosen(parkedDevices(each)))
            all.push_back(environment(each));
    }
    return all;
}

Json MachineObjects::processes() const {
    if (!answers_.processes)
        return nullptr;
    Json all = Json::array();
    for (const ProcessDescription& process : *answers_.processes) {
        if (areChosen(devicesOf(process)))
            all.push_back(processObject(process));
    }
    return all;
}

Json MachineObjects::queue() const {
    Json all = Json::array();
    for (const WaitingRequest& request : answers_.queue)
        all.push_back(wait(request));
    return all;
}

Json environmentObject(Client& client, const std::string& id) {
    const MachineAnswers answers{client.machine(), client.queue(), std::nullopt};
    for (const Environment& environment : answers.machine.environments) {
        if (environment.id == id)
            return MachineObjects(answers).environment(environment);
    }
    return nullptr;
}

std::optional<std::uint32_t> jobOfEnvironment(const std::string& id) {
    if (const auto job = jobs::jobOf(id))
        return *job;
    const auto job = client::slurmJobOf(id);
    return job ? parseNumber(*job) : std::nullopt;
}

} // namespace genv::ctl
