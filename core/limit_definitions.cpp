// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/limit_definitions.hpp"

#include "core/ledger.hpp"
#include "core/membership.hpp"

#include <algorithm>
#include <array>

namespace genv::core {

namespace {

std::uint64_t wholeSeconds(std::chrono::microseconds time) {
    const auto count = std::chrono::duration_cast<std::chrono::seconds>(time).count();
    return static_cast<std::uint64_t>(std::max<std::int64_t>(count, 0));
}

std::uint64_t heldDevices(const Holdings& holdings) {
    return holdings.devices();
}

std::uint64_t heldEnvironments(const Holdings& holdings) {
    return holdings.environments;
}

std::uint64_t heldMemory(const Holdings& holdings) {
    return holdings.totalMemory().count;
}

std::uint64_t heldMemoryOnADevice(const Holdings& holdings) {
    return holdings.maxMemoryPerDevice().count;
}

// Counts the processes that the rules attribute to a user: those in their environments except for
// Slurm's jobs, and their own processes outside environments.
std::uint64_t computeProcesses(const LimitUseSources& from) {
    if (from.last == nullptr)
        return 0;
    const EnvironmentLookup lookup = lookupIn(from.ledger);
    const auto& processes = from.last->processes;
    return static_cast<std::uint64_t>(
        std::count_if(processes.begin(), processes.end(), [&](const ComputeProcess& process) {
            const Environment* environment = environmentOf(lookup, process);
            return (environment != nullptr ? environment->uid : process.user()) == from.user &&
                   !(environment != nullptr && from.ledger.isOfJob(*environment));
        }));
}

std::uint64_t oldestEnvironment(const LimitUseSources& from) {
    std::chrono::microseconds age{0};
    for (const EnvironmentId& id : from.ledger.environmentsOf(from.user)) {
        const Environment& environment = from.ledger.get(id);
        if (!environment.job && !environment.parent)
            age = std::max(age, from.now - environment.began);
    }
    return wholeSeconds(age);
}

std::uint64_t maxIdleTime(const LimitUseSources& from) {
    std::chrono::milliseconds idle{0};
    for (const EnvironmentId& id : from.ledger.environmentsOf(from.user)) {
        const Environment& environment = from.ledger.get(id);
        if (environment.parent)
            continue;
        for (const Attachment& attachment : environment.attachments)
            idle = std::max(idle, from.idleness.of(id, attachment.device.uuid, from.now));
    }
    return wholeSeconds(idle);
}

constexpr std::array limitRows{
    LimitDefinition{
        "MaxDevicesPerUser",
        "max-devices-per-user",
        &Limits::maxDevices,
        LimitScope::User,
        LimitedRequest::Devices,
        &heldDevices,
        "device",
        "DEVICES",
        "DEVICES",
        "Allow each user up to N devices",
        "The number of distinct devices over all environments of the user.\n"
        "Above the limit, the most recently attached devices are detached first, and the "
        "environments' processes on them are ended.",
        {"holds {}", "GPU", "the newest are detached", "kept until given back"}},
    LimitDefinition{
        "MaxDevicesPerEnvironment",
        "max-devices-per-environment",
        &Limits::maxDevicesPerEnvironment,
        LimitScope::Environment,
        LimitedRequest::Devices,
        &heldDevices,
        "device",
        "PER ENV",
        "DEVICES_PER_ENVIRONMENT",
        "Allow each environment up to N devices",
        "The number of devices of each environment.\n"
        "Above the limit, the most recently attached devices are detached first, and "
        "the environment's processes on them are ended.",
        {"holds {} in one environment", "GPU", "the newest are detached", "kept until given back"}},
    LimitDefinition{
        "MaxEnvironmentsPerUser",
        "max-environments-per-user",
        &Limits::maxEnvironments,
        LimitScope::User,
        LimitedRequest::Activation,
        &heldEnvironments,
        "environment",
        "ENVS",
        "ENVIRONMENTS",
        "Allow each user up to N environments",
        "The number of active environments, without those within others.\n"
        "Above the limit, the most recently activated environments end first.",
        {"has {}", "environment", "the newest end", "kept until their owner ends them"}},
    LimitDefinition{
        "MaxProcessesPerUser",
        "max-processes-per-user",
        &Limits::maxProcesses,
        LimitScope::User,
        LimitedRequest::None,
        &computeProcesses,
        "process",
        "PROCS",
        "PROCESSES",
        "Allow each user up to N processes on GPUs",
        "The number of compute processes: those in the user's environments, and the user's own "
        "outside every environment.\n"
        "Above the limit, the most recently started processes are ended first.",
        {"runs {} on GPUs", "process", "the newest are ended"}},
    LimitDefinition{
        "MaxGpuMemoryPerUser",
        "max-gpu-memory-per-user",
        &Limits::maxGpuMemory,
        LimitScope::User,
        LimitedRequest::Devices,
        &heldMemory,
        "GPU memory",
        "MEMORY",
        "GPU_MEMORY",
        "Allow each user AMOUNT of GPU memory, such as 4g",
        "The amount of GPU memory over all devices.\n"
        "For a request, shares count, and a whole device counts as all of its memory.\n"
        "The rule counts the memory that processes use, and ends as few of them as possible, "
        "chosen as for *EnvMemory=*.",
        {"reserves {} of GPU memory", "", "processes that use more are ended",
         "kept until given back", true}},
    LimitDefinition{"MaxGpuMemoryPerDevice",
                    "max-gpu-memory-per-device",
                    &Limits::maxGpuMemoryPerDevice,
                    LimitScope::Device,
                    LimitedRequest::Devices,
                    &heldMemoryOnADevice,
                    "GPU memory on one device",
                    "PER GPU",
                    "GPU_MEMORY_PER_DEVICE",
                    "Allow each user AMOUNT of memory on each device",
                    "The amount of GPU memory on each device, counted in the same way.",
                    {"reserves {} of one GPU's memory", "", "processes that use more are ended",
                     "kept until given back", true}},
    LimitDefinition{
        "MaxLifetime",
        "max-lifetime",
        &Limits::maxLifetime,
        LimitScope::Environment,
        LimitedRequest::Lifetime,
        &oldestEnvironment,
        "",
        "LIFETIME",
        "LIFETIME",
        "End environments older than TIME, such as 2h",
        "How long an environment may be active, not counting the wait for its first devices.\n"
        "It is also the lease of an environment that asks for none.\n"
        "The owner is warned ten minutes and one minute before the end.\n"
        "Then the environment ends, and so do its processes on its devices.",
        {"has an environment of {}", "", "it ends",
         "kept until its lease or its last process ends"}},
    LimitDefinition{
        "IdleTimeout",
        "idle-timeout",
        &Limits::idleTimeout,
        LimitScope::Attachment,
        LimitedRequest::None,
        &maxIdleTime,
        "",
        "IDLE",
        "IDLE_TIME",
        "Detach devices idle for longer than TIME, such as 30min",
        "How long an attachment may be idle before it is detached.\n"
        "An attachment is in use at a check if a compute process of its environment runs on the "
        "device and the device's utilization is above zero or unknown.\n"
        "Utilization is measured for the device as a whole, so work of another environment on a "
        "shared device counts, too.\n"
        "When the service starts, every attachment counts as just used.",
        {"has not used a GPU for {}", "", "it is detached"}},
};

} // namespace

std::optional<std::uint64_t> LimitDefinition::allowed(const Limits& limits) const {
    const auto number = [](const auto& value) -> std::uint64_t {
        using Value = std::remove_cvref_t<decltype(value)>;
        if constexpr (std::is_same_v<Value, Bytes>)
            return value.count;
        else if constexpr (std::is_same_v<Value, std::chrono::milliseconds>)
            return wholeSeconds(value);
        else
            return value;
    };
    return std::visit(
        [&](auto limit) {
            return limits.*limit ? std::optional(number(*(limits.*limit))) : std::nullopt;
        },
        member);
}

std::span<const LimitDefinition> limitDefinitions() {
    return limitRows;
}

const LimitDefinition* findLimit(std::string_view name) {
    const auto found =
        std::find_if(limitRows.begin(), limitRows.end(),
                     [&](const LimitDefinition& limit) { return limit.name == name; });
    return found == limitRows.end() ? nullptr : &*found;
}

const LimitDefinition* findLimitByKey(std::string_view key) {
    const auto found = std::ranges::find(limitRows, key, &LimitDefinition::key);
    return found == limitRows.end() ? nullptr : &*found;
}

} // namespace genv::core
