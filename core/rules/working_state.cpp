// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/rules/working_state.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>

namespace genv::core {

WorkingState::WorkingState(const Situation& seen) : situation(seen), processes(seen.processes) {
    for (std::size_t i = 0; i < processes.size(); ++i) {
        // If a parent loses a device, its children lose it as well.
        for (const EnvironmentRecord* environment :
             {processes[i].environment, processes[i].parent}) {
            if (environment != nullptr)
                members_[environment].push_back(i);
        }
    }
    for (const auto& [sequence, environment] : situation.environments)
        environments_[environment.uid].push_back(&environment);
}

Consequences& WorkingState::find(Rule rule, Uid user, std::optional<EnvironmentId> environment,
                                 std::string subject, std::string message) {
    findings.push_back({rule, user, std::move(environment),
                        fmt::format("{} {}", nameOf(rule), subject), std::move(message)});
    return findings.back().consequences;
}

void WorkingState::end(RunningProcess& process, Consequences& consequences) {
    if (std::exchange(process.ends, true))
        return;
    std::vector<DeviceUuid> devices;
    for (const ComputeUse& use : process.process->uses)
        devices.push_back(use.device);
    consequences.endings.push_back(
        {process.process->facts, process.process->user(), std::move(devices),
         process.environment != nullptr ? std::optional(process.environment->id) : std::nullopt});
}

void WorkingState::detach(const EnvironmentRecord& environment, const DeviceUuid& device,
                          Consequences& consequences) {
    if (!detached_.emplace(environment.id, device).second)
        return;
    consequences.detachments.push_back({environment.id, device});
    const auto members = members_.find(&environment);
    if (members == members_.end())
        return;
    for (const std::size_t member : members->second) {
        if (processes[member].uses(device))
            end(processes[member], consequences);
    }
}

void WorkingState::endEnvironment(const EnvironmentRecord& environment,
                                  Consequences& consequences) {
    if (!ended_.insert(environment.id).second)
        return;
    for (const DeviceAttachment& attachment : environment.attachments)
        detach(environment, attachment.device.uuid, consequences);
    consequences.ended.push_back(environment.id);
}

bool WorkingState::isSlurms(const DeviceUuid& device) const {
    const TableDevice* known = situation.devices.findUuid(device);
    return known != nullptr && known->isSlurms();
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
    return fmt::format("{}", fmt::join(situation.devices.indicesOf(devices), ","));
}

void WorkingState::endFewest(const std::vector<RunningProcess*>& among, Bytes excess,
                             const std::function<Bytes(const RunningProcess&)>& size,
                             Consequences& consequences) {
    struct Candidate {
        Bytes size; // computed once, since it may count only processes that do not end yet
        RunningProcess* process = nullptr;
    };
    std::vector<Candidate> candidates;
    candidates.reserve(among.size());
    for (RunningProcess* process : among)
        candidates.push_back({size(*process), process});
    std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
        const auto key = [](const Candidate& candidate) {
            const ProcessIdentity& identity = candidate.process->process->facts.identity;
            return std::tuple(candidate.size, identity.startTime, identity.pid);
        };
        return key(a) > key(b);
    });
    for (auto next = candidates.begin(); next != candidates.end() && next->size.count > 0; ++next) {
        if (next->size < excess) {
            end(*next->process, consequences);
            excess = excess - next->size;
            continue;
        }
        // One more process suffices: among the smallest sufficient ones, the one that started last.
        const auto tooSmall = std::find_if(next, candidates.end(),
                                           [&](const Candidate& c) { return c.size < excess; });
        const Bytes smallest = std::prev(tooSmall)->size;
        const auto last = std::find_if(
            next, tooSmall, [&](const Candidate& candidate) { return candidate.size == smallest; });
        end(*last->process, consequences);
        return;
    }
}

std::set<DeviceUuid> WorkingState::freeLoansOf(Uid uid, const RuleSet& rules) const {
    const auto environments = environments_.find(uid);
    return environments != environments_.end()
               ? freeLoansOf(environments->second, limitsOf(uid, rules))
               : std::set<DeviceUuid>{};
}

std::set<DeviceUuid>
WorkingState::freeLoansOf(const std::vector<const EnvironmentRecord*>& environments,
                          const Limits& limits) {
    const std::uint32_t allowed = limits.maxPreemptibleDevices.value_or(0);
    std::set<DeviceUuid> others;
    std::map<std::uint64_t, DeviceUuid> loans;
    for (const EnvironmentRecord* environment : environments) {
        if (allowed == 0 || environment->job || environment->parent)
            continue;
        for (const DeviceAttachment& attachment : environment->attachments) {
            if (attachment.exempt)
                continue; // no rule counts it
            if (environment->lends(attachment))
                loans.emplace(attachment.sequence, attachment.device.uuid);
            else
                others.insert(attachment.device.uuid);
        }
    }
    std::set<DeviceUuid> free;
    for (const auto& [sequence, device] : loans) {
        if (free.size() < allowed && !others.contains(device))
            free.insert(device);
    }
    return free;
}

} // namespace genv::core
