// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/ledger/snapshot.hpp"

#include "core/ledger/membership.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <string_view>
#include <utility>

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

// Writes a list element by element, so that ten thousand elements never exist as objects at the
// same time.
class ListWriter {
  public:
    // Begins a section of the document: {"NAME":{"NAME":[...]}}.
    ListWriter(std::string& text, std::string_view section) : text_(text) {
        text_ += fmt::format(R"({}"{}":{{"{}":[)", text_.empty() ? "{" : ",", section, section);
    }
    ListWriter(const ListWriter&) = delete;
    ListWriter& operator=(const ListWriter&) = delete;
    ~ListWriter() { text_ += "]}"; }

    void add(const ordered_json& element) {
        text_ += std::exchange(separator_, ",");
        text_ += element.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
    }

  private:
    std::string& text_;
    const char* separator_ = "";
};

void writeProcesses(std::string& text, const LedgerView& ledger, const Observation& observation) {
    ListWriter list(text, "processes");
    const EnvironmentLookup lookup = lookupIn(ledger);
    for (const ObservedProcess& process : observation.processes) {
        ordered_json uses = ordered_json::array();
        for (const ComputeUse& use : process.uses) {
            const TableDevice* device = ledger.devices().findUuid(use.device);
            if (device == nullptr)
                continue;
            uses.push_back(
                {{"index", device->facts.index},
                 {"gpu_memory", use.usedMemory ? ordered_json(formatMebibytes(*use.usedMemory))
                                               : ordered_json(nullptr)}});
        }
        const EnvironmentRecord* environment = environmentOf(lookup, process);
        list.add({{"pid", process.facts.identity.pid},
                  {"used_gpu_memory", std::move(uses)},
                  {"eid", environment != nullptr ? ordered_json(environment->id)
                                                 : ordered_json(nullptr)}});
    }
}

void writeEnvironments(std::string& text, const LedgerView& ledger) {
    ListWriter list(text, "envs");
    for (const auto& [sequence, environment] : ledger.environments()) {
        ordered_json pids = ordered_json::array();
        for (const RootProcess& process : environment.processes)
            pids.push_back(process.identity.pid);
        ordered_json jupyterKernels = ordered_json::array();
        for (const JupyterKernel& jupyterKernel : environment.jupyterKernels)
            jupyterKernels.push_back(jupyterKernel.id);
        const EnvironmentConfiguration& configuration = environment.configuration;
        list.add({{"eid", environment.id},
                  {"uid", environment.uid},
                  {"creation", formatLocalTime(environment.created)},
                  {"username", environment.user},
                  {"config",
                   {{"name", orNull(configuration.name)},
                    {"gpu_memory", memoryOrNull(configuration.gpuMemory)},
                    {"gpus", orNull(configuration.gpus)}}},
                  {"pids", std::move(pids)},
                  {"kernel_ids", std::move(jupyterKernels)}});
    }
}

void writeDevices(std::string& text, const LedgerView& ledger) {
    ListWriter list(text, "devices");
    for (const auto& [index, device] : ledger.devices().byIndex()) {
        ordered_json attachments = ordered_json::array();
        device.forEachHolder([&](const Holder& holder) {
            attachments.push_back({{"eid", holder.environment},
                                   {"gpu_memory", memoryOrNull(holder.attachment.share)},
                                   {"time", formatLocalTime(holder.attachment.since)}});
        });
        list.add({{"index", index},
                  {"total_memory", device.facts.knownMemory()
                                       ? ordered_json(formatMebibytes(device.facts.totalMemory))
                                       : ordered_json(nullptr)},
                  {"attachments", std::move(attachments)}});
    }
}

} // namespace

std::string snapshot(const LedgerView& ledger, const Observation& observation) {
    std::string text;
    writeProcesses(text, ledger, observation);
    writeEnvironments(text, ledger);
    writeDevices(text, ledger);
    return text + "}";
}

} // namespace genv::core
