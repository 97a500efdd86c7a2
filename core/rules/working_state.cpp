// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/rules/working_state.hpp"

#include "core/membership.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace genv::core {

bool RunningProcess::uses(const DeviceUuid& device) const {
    return std::any_of(process->uses.begin(), process->uses.end(),
                       [&](const ComputeUse& use) { return use.device == device; });
}

std::optional<Bytes> RunningProcess::memoryOn(const DeviceUuid& device) const {
    for (const ComputeUse& use : process->uses) {
        if (use.device == device)
            return use.usedMemory;
    }
    return std::nullopt;
}

Bytes RunningProcess::memory() const {
    Bytes sum;
    for (const ComputeUse& use : process->uses)
        sum = sum + use.usedMemory.value_or(Bytes{0});
    return sum;
}

WorkingState::WorkingState(const Situation& seen) : situation(seen) {
    const EnvironmentLookup lookup = lookupIn(situation.ledger);
    processes.reserve(situation.observation.processes.size());
    for (const ComputeProcess& process : situation.observation.processes) {
        if (situation.isProtected(process))
            continue;
        const Environment* environment = environmentOf(lookup, process);
        const Uid user = environment != nullptr ? environment->uid : process.facts.uids.real;
        processes.push_back({&process, environment, user, false});
    }
}

Finding& WorkingState::find(Rule rule, Uid user, std::optional<EnvironmentId> environment,
                            std::string subject, std::string message) {
    return findings.emplace_back(Finding{rule,
                                         user,
                                         std::move(environment),
                                         fmt::format("{} {}", nameOf(rule), subject),
                                         std::move(message),
                                         {},
                                         {},
                                         {}});
}

void WorkingState::end(RunningProcess& process) {
    if (std::exchange(process.ends, true))
        return;
    std::vector<DeviceUuid> devices;
    for (const ComputeUse& use : process.process->uses)
        devices.push_back(use.device);
    findings.back().endings.push_back(
        {process.process->facts, std::move(devices),
         process.environment != nullptr ? std::optional(process.environment->id) : std::nullopt});
}

void WorkingState::detach(const Environment& environment, const DeviceUuid& device) {
    if (!detached_.emplace(environment.id, device).second)
        return;
    findings.back().detachments.push_back({environment.id, device});
    for (RunningProcess& process : processes) {
        if (process.environment == &environment && process.uses(device))
            end(process);
    }
}

void WorkingState::endEnvironment(const Environment& environment) {
    if (!ended_.insert(environment.id).second)
        return;
    for (const Attachment& attachment : environment.attachments)
        detach(environment, attachment.device.uuid);
    findings.back().ended.push_back(environment.id);
}

std::string WorkingState::userName(Uid uid) const {
    const auto user = situation.users.find(uid);
    return user != situation.users.end() ? user->second.name : std::to_string(uid);
}

Limits WorkingState::limitsOf(Uid uid, const RuleSet& rules) const {
    const auto user = situation.users.find(uid);
    if (uid == 0 || !rules.limitsOf || user == situation.users.end())
        return {};
    return rules.limitsOf(user->second);
}

std::string WorkingState::indices(const std::vector<DeviceUuid>& devices) const {
    std::vector<DeviceIndex> found;
    for (const DeviceUuid& uuid : devices) {
        if (const Device* device = situation.ledger.devices().findUuid(uuid))
            found.push_back(device->facts.index);
    }
    std::sort(found.begin(), found.end());
    return fmt::format("{}", fmt::join(found, ","));
}

void WorkingState::endFewest(std::vector<RunningProcess*> candidates, Bytes excess,
                             const std::function<Bytes(const RunningProcess&)>& size) {
    std::sort(candidates.begin(), candidates.end(),
              [&](const RunningProcess* a, const RunningProcess* b) {
                  const auto key = [&](const RunningProcess* p) {
                      return std::pair(size(*p), p->process->facts.identity.startTime);
                  };
                  return key(a) > key(b);
              });
    auto left = candidates.begin();
    while (left != candidates.end() && excess.count > 0 && size(**left).count > 0) {
        // Is one more enough? Then the smallest that is.
        auto last = left;
        while (last + 1 != candidates.end() && size(**(last + 1)) >= excess)
            ++last;
        if (size(**left) >= excess) {
            // The first of its size: the one that started last.
            const auto chosen = std::find_if(
                left, last + 1, [&](const RunningProcess* p) { return size(*p) == size(**last); });
            end(**chosen);
            return;
        }
        end(**left);
        excess = excess - size(**left);
        ++left;
    }
}

} // namespace genv::core
