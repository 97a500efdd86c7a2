// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/reports/environment_table.hpp"

#include "client/genvctl/reports/device_listing.hpp"
#include "client/genvctl/terminal/terminal_text.hpp"

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

// Returns a note on an environment that is not active, whose shell is gone, or that is preemptible.
std::string noteOn(const Environment& environment, const std::string& id, const LoanStates& loans,
                   Time now) {
    if (const std::string note = parkingNote(loans, id, now); !note.empty())
        return fmt::format(" ({})", note);
    return environment.lingering ? " (lingering)" : isOnLoan(loans, id) ? " (preemptible)" : "";
}

// Whether an environment has Jupyter kernels only, and no process to show.
bool hasOnlyJupyterKernels(const EnvironmentList& list) {
    return std::ranges::any_of(list.entries,
                               [](const auto& entry) { return entry.processes.empty(); }) &&
           std::ranges::any_of(list.details,
                               [](const auto& known) { return !known.second.kernels.empty(); });
}

// The columns are those of genv 1. Jupyter kernels get a column only if there are any, because
// programs do not expect it.
Table emptyTable(bool withJupyterKernels) {
    std::vector<Table::Column> columns{
        {"ID", 8}, {"USER", 16}, {"NAME", 16, 1}, {"CREATED", 21, 3}, {"PID(S)", 12, 4}};
    if (withJupyterKernels)
        columns.push_back({"KERNEL(S)", 12, 5});
    columns.push_back({"DEVICES", 10, 6, true});
    columns.push_back({"LEASE ENDS", 14, 7, true});
    columns.push_back({"MEMORY", 0, 8, true});
    return Table(std::move(columns));
}

} // namespace

Table environmentTable(const EnvironmentList& list, const ListingOptions& options, Time now) {
    const bool withJupyterKernels = hasOnlyJupyterKernels(list) && options.format != "csv";
    Table table = emptyTable(withJupyterKernels);
    for (const EnvironmentEntry& entry : asTree(list.entries, list.parents)) {
        const auto known = list.details.find(entry.id);
        const Environment details = known == list.details.end() ? Environment{} : known->second;
        std::vector<std::string> cells{
            (list.parents.contains(entry.id) ? "- " : "") + entry.id,
            fmt::format("{}({})", entry.user, entry.uid), entry.name.value_or(""),
            options.time(entry.created),
            joined(entry.processes, " ") +
                (options.format != "csv" ? noteOn(details, entry.id, list.loans, now) : "")};
        if (withJupyterKernels)
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

} // namespace genv::ctl
