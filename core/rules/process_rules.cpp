// SPDX-License-Identifier: LGPL-2.1-or-later
// The rules about compute processes: where they may run, how many, and with how much memory.
#include "core/rules/working_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace genv::core {

namespace {

// Groups the processes that still run by the key under which they count. Slurm counts the processes
// of its jobs itself.
template <typename Key>
std::map<Key, std::vector<RunningProcess*>>
group(WorkingState& state, const std::function<std::optional<Key>(const RunningProcess&)>& key) {
    std::map<Key, std::vector<RunningProcess*>> groups;
    for (RunningProcess& process : state.processes) {
        if (process.ends || process.isOfJob())
            continue;
        if (const auto found = key(process))
            groups[*found].push_back(&process);
    }
    return groups;
}

std::map<Uid, std::vector<RunningProcess*>> byUser(WorkingState& state) {
    return group<Uid>(state,
                      [](const RunningProcess& process) { return std::optional(process.user); });
}

Bytes sum(const std::vector<RunningProcess*>& processes,
          const std::function<Bytes(const RunningProcess&)>& size) {
    Bytes total;
    for (const RunningProcess* process : processes)
        total = total + size(*process);
    return total;
}

// Returns whether a process is in a job's cgroup and uses only devices of Slurm. Either genv does
// not know the job yet, or the process runs as a user other than the job's owner.
bool isSlurmsToJudge(const WorkingState& state, const RunningProcess& process) {
    const std::vector<ComputeUse>& uses = process.process->uses;
    return process.process->slurm && !uses.empty() &&
           std::ranges::all_of(uses,
                               [&](const ComputeUse& use) { return state.isSlurms(use.device); });
}

std::string subjectOf(const ProcessIdentity& process) {
    return fmt::format("{}/{}", process.pid, process.startTime);
}

} // namespace

void findNonEnvProcesses(WorkingState& state, const RuleSet& /*rules*/) {
    for (RunningProcess& process : state.processes) {
        if (process.ends || process.environment != nullptr ||
            process.process->facts.uids.hasRoot() || isSlurmsToJudge(state, process))
            continue;
        Consequences& consequences =
            state.find(Rule::NonEnvProcesses, process.user, std::nullopt,
                       subjectOf(process.process->facts.identity),
                       fmt::format("Process {} is not running in a GPU environment",
                                   process.process->facts.identity.pid));
        state.end(process, consequences);
    }
}

void findEnvDevices(WorkingState& state, const RuleSet& /*rules*/) {
    for (RunningProcess& process : state.processes) {
        if (process.ends || process.environment == nullptr)
            continue;
        std::vector<DeviceUuid> foreign;
        for (const ComputeUse& use : process.process->uses) {
            // Slurm decides which of its devices a job may use. A process outside the cgroup only
            // claims to belong to the job.
            if (process.environment->attachmentTo(use.device) == nullptr &&
                !(process.environment->job && process.process->slurm && state.isSlurms(use.device)))
                foreign.push_back(use.device);
        }
        if (foreign.empty())
            continue;
        Consequences& consequences =
            state.find(Rule::EnvDevices, process.user, process.environment->id,
                       subjectOf(process.process->facts.identity),
                       fmt::format("Process {} from environment {} is using non-attached GPU(s) {}",
                                   process.process->facts.identity.pid, process.environment->id,
                                   state.indices(foreign)));
        state.end(process, consequences);
    }
}

void findEnvMemory(WorkingState& state, const RuleSet& /*rules*/) {
    struct Group {
        const Environment* environment = nullptr;
        std::vector<RunningProcess*> processes;
    };
    using Key = std::pair<EnvironmentId, DeviceUuid>;
    std::map<Key, Group> groups;
    for (RunningProcess& process : state.processes) {
        for (const Environment* environment : {process.environment, process.parent}) {
            if (process.ends || environment == nullptr)
                continue;
            for (const ComputeUse& use : process.process->uses) {
                Group& group = groups[{environment->id, use.device}];
                group.environment = environment;
                group.processes.push_back(&process);
            }
        }
    }
    for (const auto& [key, group] : groups) {
        const auto& [environment, processes] = group;
        const Attachment* attachment = environment->attachmentTo(key.second);
        if (attachment == nullptr || !attachment->share)
            continue; // a whole device has no share to exceed
        const auto size = [&device = key.second](const RunningProcess& process) {
            return process.ends ? Bytes{0} : process.memoryOn(device).value_or(Bytes{0});
        };
        const Bytes used = sum(processes, size);
        if (used <= *attachment->share)
            continue;
        Consequences& consequences = state.find(
            Rule::EnvMemory, environment->uid, key.first, key.first + " " + key.second,
            fmt::format(
                "Environment {} is using {} on device {} which is {} over its capacity of {}",
                key.first, formatMebibytes(used), state.index(key.second),
                formatMebibytes(used - *attachment->share), formatBytes(*attachment->share)));
        state.endFewest(processes, used - *attachment->share, size, consequences);
    }
}

void findMaxProcesses(WorkingState& state, const RuleSet& rules) {
    for (auto& [user, processes] : byUser(state)) {
        const auto limit = state.limitsOf(user, rules).maxProcesses;
        if (!limit || processes.size() <= *limit)
            continue;
        const std::size_t surplus = processes.size() - *limit;
        Consequences& consequences = state.find(
            Rule::MaxProcessesPerUser, user, std::nullopt, std::to_string(user),
            fmt::format(
                "User {} is running {} compute processes which is {} more than the maximum allowed",
                state.userName(user), processes.size(), surplus));
        // The most recently started processes end first.
        std::sort(processes.begin(), processes.end(),
                  [](const RunningProcess* a, const RunningProcess* b) {
                      return std::pair(a->process->facts.identity.startTime,
                                       a->process->facts.identity.pid) >
                             std::pair(b->process->facts.identity.startTime,
                                       b->process->facts.identity.pid);
                  });
        for (std::size_t i = 0; i < surplus; ++i)
            state.end(*processes[i], consequences);
    }
}

void findMemoryPerDevice(WorkingState& state, const RuleSet& rules) {
    for (const auto& [user, all] : byUser(state)) {
        const auto limit = state.limitsOf(user, rules).maxGpuMemoryPerDevice;
        if (!limit)
            continue;
        std::map<DeviceUuid, std::vector<RunningProcess*>> devices;
        for (RunningProcess* process : all) {
            for (const ComputeUse& use : process->process->uses)
                devices[use.device].push_back(process);
        }
        for (const auto& [device, processes] : devices) {
            const auto size = [&uuid = device](const RunningProcess& process) {
                const Attachment* attachment = process.environment != nullptr
                                                   ? process.environment->attachmentTo(uuid)
                                                   : nullptr;
                const bool spared = process.ends || (attachment != nullptr && attachment->exempt);
                return spared ? Bytes{0} : process.memoryOn(uuid).value_or(Bytes{0});
            };
            const Bytes used = sum(processes, size);
            if (used <= *limit)
                continue;
            Consequences& consequences = state.find(
                Rule::MaxGpuMemoryPerDevice, user, std::nullopt, fmt::format("{} {}", user, device),
                fmt::format(
                    "User {} is using {} on device {} which is {} more than the maximum allowed",
                    state.userName(user), formatMebibytes(used), state.index(device),
                    formatMebibytes(used - *limit)));
            state.endFewest(processes, used - *limit, size, consequences);
        }
    }
}

void findMemoryPerUser(WorkingState& state, const RuleSet& rules) {
    for (const auto& [user, processes] : byUser(state)) {
        const auto limit = state.limitsOf(user, rules).maxGpuMemory;
        if (!limit)
            continue;
        const auto size = [](const RunningProcess& process) {
            Bytes counted;
            for (const ComputeUse& use : process.process->uses) {
                const Attachment* attachment = process.environment != nullptr
                                                   ? process.environment->attachmentTo(use.device)
                                                   : nullptr;
                if (attachment == nullptr || !attachment->exempt)
                    counted = counted + use.usedMemory.value_or(Bytes{0});
            }
            return counted;
        };
        const Bytes used = sum(processes, size);
        if (used <= *limit)
            continue;
        Consequences& consequences = state.find(
            Rule::MaxGpuMemoryPerUser, user, std::nullopt, std::to_string(user),
            fmt::format(
                "User {} is using {} of GPU memory which is {} more than the maximum allowed",
                state.userName(user), formatMebibytes(used), formatMebibytes(used - *limit)));
        state.endFewest(processes, used - *limit, size, consequences);
    }
}

} // namespace genv::core
