// SPDX-License-Identifier: LGPL-2.1-or-later
// The rules about what users hold: environments, devices, and for how long.
#include "core/base/duration.hpp"
#include "core/ledger/holdings.hpp"
#include "core/limits/limit_use.hpp"
#include "core/rules/working_state.hpp"
#include "core/sentences/sentences.hpp"
#include "core/settings/limit_definitions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace genv::core {

namespace {

// Returns the environments of each user that rules may end or detach from, oldest first. Slurm's
// jobs are not included, and children count with their parents.
std::map<Uid, std::vector<const EnvironmentRecord*>> byOwner(const WorkingState& state) {
    std::map<Uid, std::vector<const EnvironmentRecord*>> owners;
    for (const auto& [sequence, environment] : state.situation.environments) {
        if (!state.isEnded(environment) && !environment.job && !environment.parent)
            owners[environment.uid].push_back(&environment);
    }
    return owners;
}

// A job is idle if all of its devices are, since the job chooses which of them it uses next. The
// rule detaches nothing from a job: its owner is warned, or Slurm ends it, according to
// IdleAction=.
void findIdleJobs(WorkingState& state, const RuleSet& rules) {
    for (const auto& [sequence, environment] : state.situation.environments) {
        if (!environment.job || environment.attachments.empty())
            continue;
        const auto limit = state.limitsOf(environment.uid, rules).idleTimeout;
        auto idle = std::chrono::milliseconds::max();
        std::vector<DeviceUuid> devices;
        for (const DeviceAttachment& attachment : environment.attachments) {
            devices.push_back(attachment.device.uuid);
            idle = std::min(idle, state.situation.idleness.of(environment.id, devices.back(),
                                                              state.situation.bootNow));
        }
        if (!limit || idle <= *limit)
            continue;
        Consequences& consequences = state.find(
            Rule::IdleTimeout, environment.uid, environment.id, environment.id,
            fmt::format("Slurm job {} has not used GPU(s) {} for {}", environment.job->id,
                        state.indices(devices), formatDuration(idle)));
        consequences.idleJobs.push_back(environment.job->id);
    }
}

Holdings holdingsOf(const std::vector<const EnvironmentRecord*>& environments) {
    std::map<std::uint64_t, std::pair<const EnvironmentRecord*, const DeviceAttachment*>>
        bySequence;
    for (const EnvironmentRecord* environment : environments) {
        for (const DeviceAttachment& attachment : environment->attachments) {
            if (!attachment.exempt)
                bySequence.emplace(attachment.sequence, std::pair(environment, &attachment));
        }
    }
    Holdings holdings;
    for (const auto& [sequence, held] : bySequence)
        holdings.add(*held.first, *held.second);
    return holdings;
}

// Returns the limit that a user exceeds because of an environment, or null.
const LimitDefinition* exceededBecauseOf(const EnvironmentRecord& environment,
                                         const std::vector<const EnvironmentRecord*>& all,
                                         const Limits& limits) {
    std::vector<const EnvironmentRecord*> others = all;
    std::erase(others, &environment);
    const Holdings with = holdingsOf(all);
    const Holdings without = holdingsOf(others);
    const Holdings alone = holdingsOf({&environment});
    for (const LimitDefinition& limit : limitDefinitions()) {
        const auto allowed =
            limit.refuses == LimitedRequest::Devices ? limit.allowed(limits) : std::nullopt;
        if (!allowed)
            continue;
        const auto count = [&](const Holdings& holdings) {
            return countOf(std::get<CountHeld>(limit.count), holdings,
                           limits.maxPreemptibleDevices.value_or(0));
        };
        const bool isOver = limit.scope == LimitScope::Environment
                                ? count(alone) > *allowed
                                : count(with) > *allowed && count(without) < count(with);
        if (isOver)
            return &limit;
    }
    return nullptr;
}

} // namespace

// The most recently started environments end first.
void findFailedLoans(WorkingState& state, const RuleSet& rules) {
    for (auto& [user, environments] : byOwner(state)) {
        const Limits limits = state.limitsOf(user, rules);
        for (const EnvironmentRecord* environment :
             std::vector(environments.rbegin(), environments.rend())) {
            const LimitDefinition* limit =
                environment->loanFailed ? exceededBecauseOf(*environment, environments, limits)
                                        : nullptr;
            if (limit == nullptr)
                continue;
            std::erase(environments, environment);
            Consequences& consequences = state.find(
                Rule::MaxPreemptibleDevices, user, environment->id, environment->id,
                fmt::format("Environment {} is on loan but could not be parked for others, and "
                            "takes user {} over a limit ({})",
                            environment->id, state.userName(user), limit->key));
            state.endEnvironment(*environment, consequences);
        }
    }
}

void findLifetimes(WorkingState& state, const RuleSet& rules) {
    for (const auto& [user, environments] : byOwner(state)) {
        const auto limit = state.limitsOf(user, rules).maxLifetime;
        for (const EnvironmentRecord* environment : environments) {
            const auto age = std::chrono::duration_cast<std::chrono::milliseconds>(
                state.situation.bootNow - environment->began);
            const bool isParkedAtItsEnd =
                environment->parking && environment->parking->reason == Reason::expired().text();
            if (!limit || environment->exempt || environment->isWaitingToStart() ||
                isParkedAtItsEnd || age <= *limit)
                continue;
            Consequences& consequences = state.find(
                Rule::MaxLifetime, user, environment->id, environment->id,
                fmt::format("Environment {} has been active for {}, {} longer than allowed",
                            environment->id, formatDuration(age), formatDuration(age - *limit)));
            state.endEnvironment(*environment, consequences);
        }
    }
}

void findMaxEnvironments(WorkingState& state, const RuleSet& rules) {
    for (auto& [user, environments] : byOwner(state)) {
        const auto limit = state.limitsOf(user, rules).maxEnvironments;
        std::erase_if(environments, [](const EnvironmentRecord* environment) {
            return environment->exempt || !environment->isCounted();
        });
        if (!limit || environments.size() <= *limit)
            continue;
        const std::size_t surplus = environments.size() - *limit;
        Consequences& consequences =
            state.find(Rule::MaxEnvironmentsPerUser, user, std::nullopt, std::to_string(user),
                       fmt::format("User {} has {}, {} more than allowed", state.userName(user),
                                   counted(environments.size(), "active environment"), surplus));
        for (std::size_t i = 0; i < surplus; ++i) // the most recently started ones end first
            state.endEnvironment(*environments[environments.size() - 1 - i], consequences);
    }
}

void findMaxDevicesPerEnvironment(WorkingState& state, const RuleSet& rules) {
    for (const auto& [user, environments] : byOwner(state)) {
        const auto limit = state.limitsOf(user, rules).maxDevicesPerEnvironment;
        for (const EnvironmentRecord* environment : environments) {
            const auto free = WorkingState::freeLoansOf({environment}, state.limitsOf(user, rules));
            std::vector<const DeviceAttachment*> counted;
            for (const DeviceAttachment& attachment : environment->attachments) {
                if (!attachment.exempt && !free.contains(attachment.device.uuid) &&
                    !state.isDetached(*environment, attachment.device.uuid))
                    counted.push_back(&attachment);
            }
            if (!limit || counted.size() <= *limit)
                continue;
            Consequences& consequences =
                state.find(Rule::MaxDevicesPerEnvironment, user, environment->id, environment->id,
                           fmt::format("Environment {} is attached to {}, {} more than allowed",
                                       environment->id, core::counted(counted.size(), "device"),
                                       counted.size() - *limit));
            for (std::size_t i = *limit; i < counted.size();
                 ++i) // attachments are sorted oldest first
                state.detach(*environment, counted[i]->device.uuid, consequences);
        }
    }
}

void findMaxDevices(WorkingState& state, const RuleSet& rules) {
    struct Hold {
        std::uint64_t since = 0; // when the user first got the device
        std::vector<const EnvironmentRecord*> environments;
    };
    for (const auto& [user, environments] : byOwner(state)) {
        const auto limit = state.limitsOf(user, rules).maxDevices;
        if (!limit)
            continue;
        const std::set<DeviceUuid> free =
            WorkingState::freeLoansOf(environments, state.limitsOf(user, rules));
        std::map<DeviceUuid, Hold> holds;
        for (const EnvironmentRecord* environment : environments) {
            for (const DeviceAttachment& attachment : environment->attachments) {
                if (attachment.exempt || free.contains(attachment.device.uuid) ||
                    state.isDetached(*environment, attachment.device.uuid))
                    continue;
                Hold& hold = holds[attachment.device.uuid];
                if (hold.environments.empty() || attachment.sequence < hold.since)
                    hold.since = attachment.sequence;
                hold.environments.push_back(environment);
            }
        }
        if (holds.size() <= *limit)
            continue;
        Consequences& consequences = state.find(
            Rule::MaxDevicesPerUser, user, std::nullopt, std::to_string(user),
            fmt::format("User {} is using {} devices which is {} more than the maximum allowed",
                        state.userName(user), holds.size(), holds.size() - *limit));
        std::vector<std::pair<std::uint64_t, DeviceUuid>> order;
        for (const auto& [device, hold] : holds)
            order.emplace_back(hold.since, device);
        std::sort(order.rbegin(),
                  order.rend()); // the most recently attached devices are detached first
        order.resize(holds.size() - *limit);
        for (const auto& [since, device] : order) {
            for (const EnvironmentRecord* environment : holds.at(device).environments)
                state.detach(*environment, device, consequences);
        }
    }
}

void findIdle(WorkingState& state, const RuleSet& rules) {
    findIdleJobs(state, rules);
    for (const auto& [user, environments] : byOwner(state)) {
        const auto limit = state.limitsOf(user, rules).idleTimeout;
        if (!limit)
            continue;
        for (const EnvironmentRecord* environment : environments) {
            for (const DeviceAttachment& attachment : environment->attachments) {
                const DeviceUuid& device = attachment.device.uuid;
                const auto idle =
                    state.situation.idleness.of(environment->id, device, state.situation.bootNow);
                if (attachment.exempt || state.isDetached(*environment, device) || idle <= *limit)
                    continue;
                Consequences& consequences = state.find(
                    Rule::IdleTimeout, user, environment->id, environment->id + " " + device,
                    fmt::format("Environment {} has not used device {} for {}", environment->id,
                                state.index(device), formatDuration(idle)));
                state.detach(*environment, device, consequences);
            }
        }
    }
}

} // namespace genv::core
