// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/snapshot.hpp"

#include "core/membership.hpp"

#include <nlohmann/json.hpp>

namespace genv::core {

namespace {

using nlohmann::ordered_json;

template <typename T>
ordered_json orNull(const std::optional<T>& value) {
    return value ? ordered_json(*value) : ordered_json(nullptr);
}

ordered_json memoryOrNull(const std::optional<Bytes>& amount) {
    return amount ? ordered_json(formatBytes(*amount)) : ordered_json(nullptr);
}

ordered_json processes(const Ledger& ledger, const Observation& observation) {
    ordered_json list = ordered_json::array();
    const EnvironmentLookup lookup = lookupIn(ledger);
    for (const ComputeProcess& process : observation.processes) {
        ordered_json uses = ordered_json::array();
        for (const ComputeUse& use : process.uses) {
            const Device* device = ledger.devices().findUuid(use.device);
            if (device == nullptr)
                continue;
            uses.push_back(
                {{"index", device->facts.index},
                 {"gpu_memory", use.usedMemory ? ordered_json(formatMebibytes(*use.usedMemory))
                                               : ordered_json(nullptr)}});
        }
        const Environment* environment = environmentOf(lookup, process);
        list.push_back({{"pid", process.facts.identity.pid},
                        {"used_gpu_memory", std::move(uses)},
                        {"eid", environment != nullptr ? ordered_json(environment->id)
                                                       : ordered_json(nullptr)}});
    }
    return {{"processes", std::move(list)}};
}

ordered_json environments(const Ledger& ledger) {
    ordered_json list = ordered_json::array();
    for (const auto& [sequence, environment] : ledger.environments()) {
        ordered_json pids = ordered_json::array();
        for (const RootProcess& process : environment.processes)
            pids.push_back(process.identity.pid);
        ordered_json kernels = ordered_json::array();
        for (const Kernel& kernel : environment.kernels)
            kernels.push_back(kernel.id);
        const Configuration& configuration = environment.configuration;
        list.push_back({{"eid", environment.id},
                        {"uid", environment.uid},
                        {"creation", formatLocalTime(environment.created)},
                        {"username", environment.user},
                        {"config",
                         {{"name", orNull(configuration.name)},
                          {"gpu_memory", memoryOrNull(configuration.gpuMemory)},
                          {"gpus", orNull(configuration.gpus)}}},
                        {"pids", std::move(pids)},
                        {"kernel_ids", std::move(kernels)}});
    }
    return {{"envs", std::move(list)}};
}

ordered_json devices(const Ledger& ledger) {
    ordered_json list = ordered_json::array();
    for (const auto& [index, device] : ledger.devices().byIndex()) {
        ordered_json attachments = ordered_json::array();
        for (const Claim& claim : device.claims)
            attachments.push_back({{"eid", claim.environment},
                                   {"gpu_memory", memoryOrNull(claim.attachment.share)},
                                   {"time", formatLocalTime(claim.attachment.since)}});
        list.push_back({{"index", index},
                        {"total_memory", formatMebibytes(device.facts.totalMemory)},
                        {"attachments", std::move(attachments)}});
    }
    return {{"devices", std::move(list)}};
}

} // namespace

std::string snapshot(const Ledger& ledger, const Observation& observation) {
    const ordered_json all = {{"processes", processes(ledger, observation)},
                              {"envs", environments(ledger)},
                              {"devices", devices(ledger)}};
    return all.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

} // namespace genv::core
