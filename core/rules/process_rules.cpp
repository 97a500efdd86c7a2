// SPDX-License-Identifier: LGPL-2.1-or-later
// The rules about compute processes: where they may run, how many, and with how much memory.
#include "core/rules/working_state.hpp"
#include "core/sentences/sentences.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

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

// Returns the devices on which a process has no business: in an environment those that are not
// attached to it, outside environments those that isolation guards and its user does not hold.
std::vector<DeviceUuid> foreignDevices(const WorkingState& state, const RunningProcess& process) {
    std::vector<DeviceUuid> foreign;
    for (const GuardedUse& use : process.guarded) {
        if (!use.holder)
            foreign.push_back(use.device);
    }
    if (process.environment == nullptr)
        return foreign;
    for (const ComputeUse& use : process.process->uses) {
        // Slurm decides which of its devices a job may use. A process outside the cgroup only
        // claims to belong to the job.
        if (process.environment->attachmentTo(use.device) == nullptr &&
            !(process.environment->job && process.process->slurm && state.isSlurms(use.device)))
            foreign.push_back(use.device);
    }
    return foreign;
}

// Returns what a user may use of a device with all environments together, or nothing if the user
// holds all of it. Environments within others use the shares of those.
std::optional<Bytes> sharesOf(const WorkingState& state, Uid user, const DeviceUuid& device) {
    Bytes shares;
    for (const auto& [sequence, environment] : state.situation.environments) {
        if (environment.uid != user || environment.parent)
            continue;
        const DeviceAttachment* attachment = environment.attachmentTo(device);
        if (attachment != nullptr && !attachment->share)
            return std::nullopt;
        if (attachment != nullptr)
            shares = shares + *attachment->share;
    }
    return shares;
}

// Finds users whose processes outside environments use more memory of a guarded device than the
// users' shares leave. Only those processes end: each environment keeps its own share.
void findMemoryOutside(WorkingState& state) {
    using Key = std::pair<Uid, DeviceUuid>;
    std::map<Key, std::vector<RunningProcess*>> outside;
    for (RunningProcess& process : state.processes) {
        for (const GuardedUse& use : process.guarded) {
            if (!process.ends && use.holder)
                outside[{*use.holder, use.device}].push_back(&process);
        }
    }
    for (const auto& [key, processes] : outside) {
        const auto& [user, device] = key;
        const std::optional<Bytes> shares = sharesOf(state, user, device);
        if (!shares)
            continue;
        const auto size = [&uuid = device](const RunningProcess& process) {
            return process.ends ? Bytes{0} : process.memoryOn(uuid).value_or(Bytes{0});
        };
        Bytes used = sum(processes, size);
        for (const RunningProcess& process : state.processes) {
            if (process.environment != nullptr && process.environment->uid == user)
                used = used + size(process);
        }
        if (used <= *shares)
            continue;
        Consequences& consequences = state.find(
            Rule::EnvMemory, user, std::nullopt, fmt::format("user {} {}", user, device),
            fmt::format("User {}, in part outside environments, is using {} on device {} which is "
                        "{} over the user's shares of {}",
                        state.userName(user), formatMebibytes(used), state.index(device),
                        formatMebibytes(used - *shares), formatBytes(*shares)));
        state.endFewest(processes, used - *shares, size, consequences);
    }
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
        if (process.ends)
            continue;
        const std::vector<DeviceUuid> foreign = foreignDevices(state, process);
        if (foreign.empty())
            continue;
        const EnvironmentRecord* environment = process.environment;
        Consequences& consequences = state.find(
            Rule::EnvDevices, process.user,
            environment != nullptr ? std::optional(environment->id) : std::nullopt,
            subjectOf(process.process->facts.identity),
            environment != nullptr
                ? fmt::format("Process {} from environment {} is using non-attached GPU(s) {}",
                              process.process->facts.identity.pid, environment->id,
                              state.indices(foreign))
                : fmt::format("Process {} of user {}, outside every environment, is using GPU(s) "
                              "{} which the user does not hold",
                              process.process->facts.identity.pid, state.userName(process.user),
                              state.indices(foreign)));
        state.end(process, consequences);
    }
}

void findEnvMemory(WorkingState& state, const RuleSet& /*rules*/) {
    struct Group {
        const EnvironmentRecord* environment = nullptr;
        std::vector<RunningProcess*> processes;
    };
    using Key = std::pair<EnvironmentId, DeviceUuid>;
    std::map<Key, Group> groups;
    for (RunningProcess& process : state.processes) {
        for (const EnvironmentRecord* environment : {process.environment, process.parent}) {
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
        const DeviceAttachment* attachment = environment->attachmentTo(key.second);
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
    findMemoryOutside(state);
}

void findMaxProcesses(WorkingState& state, const RuleSet& rules) {
    for (auto& [user, processes] : byUser(state)) {
        const auto limit = state.limitsOf(user, rules).maxProcesses;
        if (!limit || processes.size() <= *limit)
            continue;
        const std::size_t surplus = processes.size() - *limit;
        Consequences& consequences = state.find(
            Rule::MaxProcessesPerUser, user, std::nullopt, std::to_string(user),
            fmt::format("User {} is running {}, {} more than allowed", state.userName(user),
                        counted(processes.size(), "compute process", "compute processes"),
                        surplus));
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
        const std::set<DeviceUuid> free = state.freeLoansOf(user, rules);
        std::map<DeviceUuid, std::vector<RunningProcess*>> devices;
        for (RunningProcess* process : all) {
            for (const ComputeUse& use : process->process->uses)
                devices[use.device].push_back(process);
        }
        for (const auto& [device, processes] : devices) {
            if (free.contains(device))
                continue;
            const auto size = [&uuid = device](const RunningProcess& process) {
                const DeviceAttachment* attachment = process.environment != nullptr
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
                fmt::format("User {} is using {} on device {}, {} more than allowed",
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
        const std::set<DeviceUuid> free = state.freeLoansOf(user, rules);
        const auto size = [&free](const RunningProcess& process) {
            Bytes counted;
            for (const ComputeUse& use : process.process->uses) {
                const DeviceAttachment* attachment =
                    process.environment != nullptr ? process.environment->attachmentTo(use.device)
                                                   : nullptr;
                const bool isSpared =
                    free.contains(use.device) || (attachment != nullptr && attachment->exempt);
                if (!isSpared)
                    counted = counted + use.usedMemory.value_or(Bytes{0});
            }
            return counted;
        };
        const Bytes used = sum(processes, size);
        if (used <= *limit)
            continue;
        Consequences& consequences =
            state.find(Rule::MaxGpuMemoryPerUser, user, std::nullopt, std::to_string(user),
                       fmt::format("User {} is using {} of GPU memory, {} more than allowed",
                                   state.userName(user), formatMebibytes(used),
                                   formatMebibytes(used - *limit)));
        state.endFewest(processes, used - *limit, size, consequences);
    }
}

} // namespace genv::core
