// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/remote/fleet/host_situation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <tuple>

namespace genv::remote {

namespace {

// (uid_t) -1, which belongs to no user.
constexpr core::Uid unknownUser = std::numeric_limits<core::Uid>::max();

core::DeviceUuid uuidOf(core::DeviceIndex index) {
    return fmt::format("{:010}", index);
}

core::ProcessUids all(core::Uid uid) {
    return {uid, uid, uid, uid};
}

// Includes every index that occurs, so that a process on an unlisted device is also seen there.
std::map<core::DeviceIndex, core::Bytes> devicesIn(const Snapshot& snapshot) {
    std::map<core::DeviceIndex, core::Bytes> devices;
    for (const Snapshot::Process& process : snapshot.processes) {
        for (const Snapshot::Use& use : process.uses)
            devices[use.device] = {};
    }
    for (const Snapshot::Device& device : snapshot.devices)
        devices[device.index] = device.totalMemory;
    return devices;
}

struct Hold {
    const Snapshot::Device* device;
    const Snapshot::Attachment* attachment;
};

// Returns the attachments, oldest first.
std::vector<Hold> holdsIn(const Snapshot& snapshot) {
    std::vector<Hold> holds;
    for (const Snapshot::Device& device : snapshot.devices) {
        for (const Snapshot::Attachment& attachment : device.attachments)
            holds.push_back({&device, &attachment});
    }
    std::stable_sort(holds.begin(), holds.end(), [](const Hold& a, const Hold& b) {
        return std::tuple(a.attachment->since, a.device->index) <
               std::tuple(b.attachment->since, b.device->index);
    });
    return holds;
}

// Returns the user of a process, if the host reports it.
std::optional<core::Uid> userOf(const Snapshot::Process& process,
                                const core::EnvironmentRecord* environment, Genv genv) {
    if (environment != nullptr)
        return environment->uid;
    return genv == Genv::Old ? std::optional(unknownUser) : process.uid;
}

} // namespace

HostSituation::HostSituation(const FleetHost& host) {
    for (const auto& [index, memory] : devicesIn(host.snapshot))
        devices_.insert(
            {{uuidOf(index), index, core::DeviceKind::Gpu, "", memory}, {}, {}, {}, {}});
    for (const Snapshot::Environment& environment : host.snapshot.environments)
        addEnvironment(environment.id, environment.uid, environment.user);
    addAttachments(host.snapshot);
    addEndedEnvironments(host.snapshot);
    addProcesses(host);
    state_.emplace(situation_);
}

void HostSituation::addEnvironment(const std::string& id, core::Uid uid, const std::string& user) {
    const auto sequence = static_cast<std::uint64_t>(environments_.size()) + 1;
    core::EnvironmentRecord& environment = environments_[sequence];
    environment.id = id;
    environment.uid = uid;
    environment.user = user;
    environment.sequence = sequence;
    byId_.emplace(id, &environment);
    users_[uid] = {uid, user, {}};
}

void HostSituation::addAttachments(const Snapshot& snapshot) {
    std::uint64_t sequence = 0;
    for (const Hold& hold : holdsIn(snapshot)) {
        const auto holder = byId_.find(hold.attachment->environment);
        if (holder == byId_.end())
            continue;
        core::DeviceAttachment attachment;
        attachment.device = devices_.find(hold.device->index)->facts;
        attachment.share = hold.attachment->share;
        attachment.since = hold.attachment->since;
        attachment.sequence = ++sequence;
        holder->second->attachments.push_back(std::move(attachment));
    }
}

// genv 1 lists processes of ended environments under those environments, which hold nothing.
void HostSituation::addEndedEnvironments(const Snapshot& snapshot) {
    users_[unknownUser] = {unknownUser, "", {}};
    for (const Snapshot::Process& process : snapshot.processes) {
        if (process.environment && !byId_.contains(*process.environment))
            addEnvironment(*process.environment, unknownUser, "");
    }
}

void HostSituation::addProcesses(const FleetHost& host) {
    std::vector<const Snapshot::Process*> byPid;
    for (const Snapshot::Process& process : host.snapshot.processes) {
        const bool isInit = process.pid <= 1; // no rule ends it
        if (!isInit && !process.uses.empty()) // a process without uses has left the GPUs
            byPid.push_back(&process);
    }
    std::sort(byPid.begin(), byPid.end(),
              [](const auto* a, const auto* b) { return a->pid < b->pid; });
    processes_.reserve(byPid.size());
    for (const Snapshot::Process* process : byPid) {
        const core::EnvironmentRecord* environment =
            process->environment ? byId_.at(*process->environment) : nullptr;
        // A process without a user started or ended during the query, and may belong to root.
        const std::optional<core::Uid> uid = userOf(*process, environment, host.genv);
        if (!uid)
            continue;
        core::ObservedProcess& seen = processes_.emplace_back();
        seen.facts = {{process->pid, 1}, all(*uid), 1};
        for (const Snapshot::Use& use : process->uses)
            seen.uses.push_back({uuidOf(use.device), use.memory});
        situation_.processes.push_back({&seen, environment, nullptr, *uid});
    }
}

std::string HostSituation::userName(core::Uid uid) const {
    const auto user = users_.find(uid);
    return user != users_.end() ? user->second.name : std::to_string(uid);
}

core::DeviceIndex HostSituation::indexOf(const core::DeviceUuid& device) const {
    return devices_.indicesOf({device}).front();
}

} // namespace genv::remote
