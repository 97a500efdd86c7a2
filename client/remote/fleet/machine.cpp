// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/remote/fleet/machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <tuple>
#include <unordered_map>

namespace genv::remote {

namespace {

// (uid_t) -1: nobody's.
constexpr core::Uid unknownUser = std::numeric_limits<core::Uid>::max();

core::DeviceUuid uuidOf(core::DeviceIndex index) {
    return fmt::format("{:010}", index);
}

core::ProcessUids all(core::Uid uid) {
    return {uid, uid, uid, uid};
}

// Every index that is mentioned, so that a process on a device that is not listed is seen there.
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

// Oldest first.
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

// What keeps an environment of a ledger alive; no process that computes has such an identity.
core::RootProcess rootOf(std::uint64_t sequence) {
    return {{0, sequence}, nullptr};
}

} // namespace

Machine::Machine(const FleetHost& host) {
    observe(host);
    ledger_.observed(seen_);
    restoreEnvironments(host);
    const auto isProtected = [](const core::ComputeProcess& process) {
        return process.facts.identity.pid <= 1;
    };
    situation_.emplace(
        core::Situation{ledger_, seen_, idleness_, users_, clock_.bootNow(), isProtected});
    state_.emplace(*situation_);
}

void Machine::observe(const FleetHost& host) {
    for (const auto& [index, memory] : devicesIn(host.snapshot))
        seen_.devices.push_back(
            {{uuidOf(index), index, core::DeviceKind::Gpu, "", memory}, {}, {}});
    for (const Snapshot::Environment& environment : host.snapshot.environments)
        users_[environment.uid] = {environment.uid, environment.user, {}};
    users_[unknownUser] = {unknownUser, "", {}};
    std::unordered_map<std::string_view, core::Uid> owners;
    for (const Snapshot::Environment& environment : host.snapshot.environments)
        owners.emplace(environment.id, environment.uid);
    for (const Snapshot::Process& process : host.snapshot.processes) {
        std::optional<core::Uid> uid = process.uid;
        if (process.environment) {
            const auto owner = owners.find(*process.environment);
            uid = owner != owners.end() ? owner->second : unknownUser;
        } else if (host.genv == Genv::Old) {
            uid = unknownUser; // it does not say
        }
        // One without went or came while the service was asked, and may be root's.
        if (uid)
            observeProcess(process, *uid);
    }
    std::sort(seen_.processes.begin(), seen_.processes.end(),
              [](const core::ComputeProcess& a, const core::ComputeProcess& b) {
                  return a.facts.identity < b.facts.identity;
              });
}

void Machine::observeProcess(const Snapshot::Process& process, core::Uid uid) {
    if (process.uses.empty())
        return; // it uses no GPU any more
    core::ComputeProcess seen;
    seen.facts = {{process.pid, 1}, all(uid), 1};
    if (process.environment)
        seen.environmentHint = core::EnvironmentHint{*process.environment, std::nullopt};
    for (const Snapshot::Use& use : process.uses)
        seen.uses.push_back({uuidOf(use.device), use.memory});
    seen_.processes.push_back(std::move(seen));
}

void Machine::restoreEnvironments(const FleetHost& host) {
    std::map<std::string, core::Environment> environments;
    std::uint64_t sequence = 0;
    const auto add = [&](const std::string& id, core::Uid uid, const std::string& user) {
        core::Environment& environment = environments[id];
        environment.id = id;
        environment.uid = uid;
        environment.user = user;
        environment.sequence = ++sequence;
        environment.processes.push_back(rootOf(sequence));
    };
    for (const Snapshot::Environment& environment : host.snapshot.environments)
        add(environment.id, environment.uid, environment.user);
    for (const Hold& hold : holdsIn(host.snapshot)) {
        const auto holder = environments.find(hold.attachment->environment);
        if (holder == environments.end())
            continue;
        core::Attachment attachment;
        attachment.device = ledger_.device(hold.device->index).facts;
        attachment.share = hold.attachment->share;
        attachment.since = hold.attachment->since;
        attachment.sequence = ++sequence;
        holder->second.attachments.push_back(std::move(attachment));
    }
    // The old genv lists the processes of environments that have ended as theirs. Those hold
    // nothing.
    for (const Snapshot::Process& process : host.snapshot.processes) {
        if (process.environment && !environments.contains(*process.environment))
            add(*process.environment, unknownUser, "");
    }
    for (auto& [id, environment] : environments)
        ledger_.restore(std::move(environment));
}

std::string Machine::userName(core::Uid uid) const {
    const auto user = users_.find(uid);
    return user != users_.end() ? user->second.name : std::to_string(uid);
}

core::DeviceIndex Machine::indexOf(const core::DeviceUuid& device) const {
    return ledger_.devices().indicesOf({device}).front();
}

} // namespace genv::remote
