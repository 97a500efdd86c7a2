// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/reports/environment_table.hpp"

#include "client/genvctl/reports/device_table.hpp"
#include "client/genvctl/terminal/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace genv::ctl {

namespace {

// Keeps the order of the environments, but puts each one after its parent.
std::vector<EnvironmentEntry> asTree(const std::vector<EnvironmentEntry>& entries,
                                     const Parents& parents) {
    if (parents.empty())
        return entries;
    std::set<std::string> known;
    for (const EnvironmentEntry& entry : entries)
        known.insert(entry.id);
    std::map<std::string, std::vector<EnvironmentEntry>> children;
    std::vector<EnvironmentEntry> roots;
    for (const EnvironmentEntry& entry : entries) {
        const auto parent = parentOf(parents, entry.id);
        (parent && known.contains(*parent) ? children[*parent] : roots).push_back(entry);
    }
    std::vector<EnvironmentEntry> tree;
    for (const EnvironmentEntry& entry : roots) {
        tree.push_back(entry);
        if (const auto within = children.find(entry.id); within != children.end())
            tree.insert(tree.end(), within->second.begin(), within->second.end());
    }
    return tree;
}

// Returns nothing if the driver does not report the memory.
std::optional<std::uint64_t> memoryOf(const std::optional<MemoryInUse>& memory,
                                      const std::string& id) {
    if (!memory)
        return std::nullopt;
    const auto found = memory->find(id);
    return found == memory->end() ? std::optional<std::uint64_t>(0) : found->second;
}

// Whether an environment has kernels only, and no process to show.
bool hasOnlyKernels(const EnvironmentList& list) {
    return std::ranges::any_of(list.entries,
                               [](const auto& entry) { return entry.processes.empty(); }) &&
           std::ranges::any_of(list.details,
                               [](const auto& known) { return !known.second.kernels.empty(); });
}

// The columns are those of genv 1. Kernels get a column only if there are any, because programs do
// not expect it.
Table emptyTable(bool withKernels) {
    std::vector<Table::Column> columns{
        {"ID", 8}, {"USER", 16}, {"NAME", 16, 1}, {"CREATED", 21, 3}, {"PID(S)", 12, 4}};
    if (withKernels)
        columns.push_back({"KERNEL(S)", 12, 5});
    columns.push_back({"DEVICES", 10, 6, true});
    columns.push_back({"LEASE ENDS", 14, 7, true});
    columns.push_back({"MEMORY", 0, 8, true});
    return Table(std::move(columns));
}

} // namespace

MemoryInUse memoryInUse(const std::vector<ComputeProcess>& processes) {
    MemoryInUse memory;
    for (const ComputeProcess& process : processes) {
        if (!process.environment)
            continue;
        std::optional<std::uint64_t>& sum =
            memory.try_emplace(*process.environment, std::optional<std::uint64_t>(0)).first->second;
        for (const DeviceUse& use : process.uses)
            sum = sum && use.usedMemoryBytes ? std::optional(*sum + *use.usedMemoryBytes)
                                             : std::nullopt;
    }
    return memory;
}

Table environmentTable(const EnvironmentList& list, const ListingOptions& options, Time now) {
    const bool withKernels = hasOnlyKernels(list) && options.format != "csv";
    Table table = emptyTable(withKernels);
    for (const EnvironmentEntry& entry : asTree(list.entries, list.parents)) {
        const auto known = list.details.find(entry.id);
        const Environment details = known == list.details.end() ? Environment{} : known->second;
        std::vector<std::string> cells{
            (list.parents.contains(entry.id) ? "- " : "") + entry.id,
            fmt::format("{}({})", entry.user, entry.uid), entry.name.value_or(""),
            options.time(entry.created),
            joined(entry.processes, " ") +
                (details.lingering && options.format != "csv" ? " (lingering)" : "")};
        if (withKernels)
            cells.push_back(joined(details.kernels, " "));
        cells.push_back(joined(details.devices, ","));
        cells.push_back(!details.expires    ? ""
                        : options.timestamp ? timestamp(*details.expires)
                                            : relativeFuture(*details.expires, now));
        const auto memory = memoryOf(list.memory, entry.id);
        cells.push_back(memoryText(memory) + (memory ? " GiB" : ""));
        table.add(std::move(cells));
    }
    return table;
}

Json environmentsJson(const std::vector<Environment>& all, const Parents& parents,
                      const std::optional<MemoryInUse>& memory) {
    Json environments = Json::array();
    for (const Environment& environment : all)
        environments.push_back(
            {{"id", environment.id},
             {"uid", environment.uid},
             {"user", environment.user},
             {"name", orNull(environment.configuration.name)},
             {"created", toJson(environment.created)},
             {"lingering", environment.lingering},
             {"pids", environment.processes},
             {"kernels", environment.kernels},
             {"parent", orNull(parentOf(parents, environment.id))},
             {"devices", environment.devices},
             {"expires", environment.expires ? toJson(*environment.expires) : Json(nullptr)},
             {"used_memory", orNull(memoryOf(memory, environment.id))}});
    return environments;
}

} // namespace genv::ctl
