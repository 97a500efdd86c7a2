// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/settings/limit_definitions.hpp"

#include "core/base/duration.hpp"

#include <algorithm>
#include <array>

namespace genv::core {

namespace {

constexpr std::array limitRows{
    LimitDefinition{
        "MaxDevicesPerUser",
        "max-devices-per-user",
        &Limits::maxDevices,
        LimitScope::User,
        LimitedRequest::Devices,
        CountHeld::Devices,
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
        CountHeld::Devices,
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
        CountHeld::Environments,
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
        CountObserved::Processes,
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
        CountHeld::Memory,
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
                    CountHeld::MemoryOnADevice,
                    "GPU memory on one device",
                    "PER GPU",
                    "GPU_MEMORY_PER_DEVICE",
                    "Allow each user AMOUNT of memory on each device",
                    "The amount of GPU memory on each device, counted in the same way.",
                    {"reserves {} of one GPU's memory", "", "processes that use more are ended",
                     "kept until given back", true}},
    LimitDefinition{
        "MaxPreemptibleDevices",
        "max-preemptible-devices",
        &Limits::maxPreemptibleDevices,
        LimitScope::User,
        LimitedRequest::None,
        CountHeld::Loans,
        "device on loan",
        "LOANS",
        "PREEMPTIBLE_DEVICES",
        "Do not count N devices on loan of each user",
        "The number of devices on loan, those of preemptible environments, that do not count "
        "towards the limits on devices and their memory: the oldest ones.\n"
        "A share of a device always counts.\n"
        "If parking an environment for others failed, its devices count. If they take the user "
        "over a limit, the user is warned and the environment ends, also with *KeepGrants=*.",
        {},
        true},
    LimitDefinition{
        "MaxLifetime",
        "max-lifetime",
        &Limits::maxLifetime,
        LimitScope::Environment,
        LimitedRequest::Lifetime,
        CountObserved::OldestEnvironment,
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
        CountObserved::IdleTime,
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
        [&](auto limit) -> std::optional<std::uint64_t> {
            const auto& set = limits.*limit;
            if (!set)
                return isAllowance ? std::optional<std::uint64_t>(0) : std::nullopt;
            using Value = typename std::remove_cvref_t<decltype(set)>::value_type;
            return *set == infinite<Value>() ? std::nullopt : std::optional(number(*set));
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
