// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dbus/calls/environment_options.hpp"

#include "core/environments/root_process.hpp"
#include "core/placement/fair_order.hpp"

#include <algorithm>
#include <iterator>
#include <set>

namespace genv::dbus {

namespace {

// On the bus a count of 0 means "unset".
std::optional<std::uint32_t> orUnset(std::uint32_t count) {
    return count == 0 ? std::nullopt : std::optional(count);
}

// Removes duplicates and keeps the order. A waiting request is stored, so it must not be longer
// than the number of devices.
template <typename Value>
std::vector<Value> once(const std::vector<Value>& values) {
    std::set<Value> seen;
    std::vector<Value> result;
    std::copy_if(values.begin(), values.end(), std::back_inserter(result),
                 [&](const Value& value) { return seen.insert(value).second; });
    return result;
}

} // namespace

core::RequestTerms takeWaitOptions(CallOptions& options) {
    core::RequestTerms terms = takeResumeOptions(options);
    terms.lifetime = options.takeSeconds("lifetime");
    return terms;
}

core::RequestTerms takeResumeOptions(CallOptions& options) {
    core::RequestTerms terms;
    terms.wait = options.takeFlag("wait");
    terms.holdForQuota = options.takeFlag("hold-for-quota");
    terms.timeout = options.takeSeconds("timeout");
    const auto priority = options.take<std::int32_t>("priority");
    if (priority && !terms.wait)
        core::fail(core::ErrorCode::InvalidArgs,
                   "priority orders the waiting requests of a user; it needs wait");
    if (priority && (*priority < -core::maxPriority || *priority > core::maxPriority))
        core::fail(core::ErrorCode::InvalidArgs, "invalid priority {}: expected {} to {}",
                   *priority, -core::maxPriority, core::maxPriority);
    terms.priority = priority.value_or(0);
    if (terms.timeout && !terms.wait)
        core::fail(core::ErrorCode::InvalidArgs,
                   "timeout says how long to wait at most; it needs wait");
    if (terms.holdForQuota && !terms.wait)
        core::fail(core::ErrorCode::InvalidArgs,
                   "hold-for-quota is an option of a request that waits; it needs wait");
    return terms;
}

std::optional<NamedDevices> takeNamedDevices(CallOptions& options) {
    const auto indices = options.take<std::vector<std::uint32_t>>("indices");
    const auto uuids = options.take<std::vector<std::string>>("uuids");
    if (indices && uuids)
        core::fail(core::ErrorCode::InvalidArgs, "give only one of indices and uuids");
    if (indices)
        return core::IndicesWanted{once(*indices)};
    if (uuids)
        return core::UuidsWanted{once(*uuids)};
    return std::nullopt;
}

decltype(core::AttachRequest::wanted) wantedOf(const NamedDevices& named) {
    return std::visit(
        [](const auto& wanted) -> decltype(core::AttachRequest::wanted) { return wanted; }, named);
}

std::optional<core::Preemptible> takePreemptible(CallOptions& options) {
    const auto word = options.take<std::string>("preemptible");
    if (!word)
        return std::nullopt;
    const auto preemptible = core::parsePreemptible(*word);
    if (!preemptible)
        core::fail(core::ErrorCode::InvalidArgs,
                   "invalid value \"{}\" of preemptible: expected no, park or end",
                   core::escaped(*word));
    return preemptible;
}

void requireMayLend(bool isWithin, std::optional<core::Preemptible> preemptible) {
    if (isWithin && preemptible.value_or(core::Preemptible::No) != core::Preemptible::No)
        core::fail(core::ErrorCode::InvalidArgs,
                   "an environment within another one has no devices of its own to lend; make its "
                   "parent preemptible");
}

AttachCallOptions readAttachOptions(VariantMap values, const core::EnvironmentRecord& environment) {
    CallOptions options(std::move(values));
    const auto count = options.take<std::uint32_t>("count");
    const auto index = options.take<std::uint32_t>("index");
    const auto uuid = options.take<std::string>("uuid");
    const auto named = takeNamedDevices(options);
    AttachCallOptions wanted;
    core::AttachRequest& request = wanted.request;
    request.model = options.takeName("model");
    request.overSubscribe = options.takeFlag("over-subscribe");
    const bool exact = options.takeFlag("exact");
    request.share = environment.configuration.gpuMemory;
    wanted.terms = takeWaitOptions(options);
    wanted.preemptible = takePreemptible(options);
    options.finish();

    if (count.has_value() + index.has_value() + uuid.has_value() + named.has_value() > 1)
        core::fail(core::ErrorCode::InvalidArgs,
                   "give only one of count, index, indices, uuid and uuids");
    if (request.model && (named || uuid))
        core::fail(core::ErrorCode::InvalidArgs, "model can be combined with count or index only");
    if (exact && (index || named || uuid))
        core::fail(core::ErrorCode::InvalidArgs, "exact can be combined with count only");
    if (index)
        request.wanted = core::IndicesWanted{{*index}};
    else if (uuid)
        request.wanted = core::UuidsWanted{{*uuid}};
    else if (named)
        request.wanted = wantedOf(*named);
    else if (count || environment.configuration.gpus)
        request.wanted = core::CountWanted{count ? *count : *environment.configuration.gpus, exact};
    else
        core::fail(
            core::ErrorCode::InvalidArgs,
            "environment {} has no device count configured; configure gpus, or give count or index",
            environment.id);
    return wanted;
}

core::EnvironmentConfigurationChange
readConfigurationChange(VariantMap set, const std::vector<std::string>& unset) {
    CallOptions options(std::move(set));
    core::EnvironmentConfigurationChange change;
    if (auto name = options.takeName("name"))
        change.name = std::move(name);
    if (const auto gpus = options.take<std::uint32_t>("gpus"))
        change.gpus = orUnset(*gpus);
    if (const auto memory = options.takeMemory("gpu-memory"))
        change.gpuMemory = memory;
    if (const auto lifetime = options.takeSeconds("lifetime"))
        change.lifetime = lifetime;
    change.overSubscribable = options.take<bool>("over-subscribable");
    change.preemptible = takePreemptible(options);
    options.finish();
    for (const std::string& field : unset) {
        if (field == "name" && !change.name)
            change.name.emplace();
        else if (field == "gpus" && !change.gpus)
            change.gpus.emplace();
        else if (field == "gpu-memory" && !change.gpuMemory)
            change.gpuMemory.emplace();
        else if (field == "lifetime" && !change.lifetime)
            change.lifetime.emplace();
        else if (field == "over-subscribable" && !change.overSubscribable)
            change.overSubscribable = false;
        else if (field == "preemptible" && !change.preemptible)
            change.preemptible = core::Preemptible::No;
        else
            core::fail(core::ErrorCode::InvalidArgs,
                       "\"{}\" cannot be unset here; name, gpus, gpu-memory, lifetime, "
                       "over-subscribable and preemptible can, each once and when not set",
                       core::escaped(field));
    }
    return change;
}

core::ProcessIdentity foundJupyterKernel(const std::string& jupyterKernel,
                                         const core::JupyterKernels::Found& found) {
    if (found.empty())
        core::fail(core::ErrorCode::NoSuchProcess,
                   "no process of the environment's owner runs the kernel {}", jupyterKernel);
    if (found.size() > 1)
        core::fail(core::ErrorCode::NoSuchProcess,
                   "processes {} and {} were both started with kernel-{}.json, and which one is "
                   "the kernel cannot be told; give the pid of the one it is",
                   found[0].pid, found[1].pid, jupyterKernel);
    return found.front();
}

core::JupyterKernel adoptJupyterKernel(core::Processes& processes, const std::string& jupyterKernel,
                                       const core::ProcessIdentity& found,
                                       const core::PinnedProcess& process, core::Uid owner) {
    if (process.pin->identity() != found)
        core::fail(core::ErrorCode::NoSuchProcess, "the process of the kernel {} has exited",
                   jupyterKernel);
    return {jupyterKernel, core::adopt(process, owner, owner),
            core::holdStarter(processes, process)};
}

std::vector<core::Pid> rootPids(const core::EnvironmentRecord& environment) {
    std::vector<core::Pid> pids;
    pids.reserve(environment.processes.size());
    for (const core::RootProcess& process : environment.processes)
        pids.push_back(process.identity.pid);
    // Parked processes keep an environment, as lingering ones do.
    if (environment.hasParked()) {
        for (const core::ParkedProcess& process : environment.parking->processes) {
            if (std::ranges::find(pids, process.identity.pid) == pids.end())
                pids.push_back(process.identity.pid);
        }
    }
    return pids;
}

} // namespace genv::dbus
