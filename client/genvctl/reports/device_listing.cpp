// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/reports/device_listing.hpp"

#include "client/genvctl/terminal/terminal_text.hpp"
#include "core/sentences/sentences.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace genv::ctl {

namespace {

constexpr const char* unknown = "-";

// Returns the children of an attachment's environment that hold a part of its device.
std::vector<Child> childrenWith(const Holders& holders, const Attachment& attachment) {
    std::vector<Child> children;
    if (const auto found = holders.children.find(attachment.environment);
        found != holders.children.end())
        std::ranges::copy_if(found->second, std::back_inserter(children), [&](const Child& child) {
            return std::ranges::find(child.devices, attachment.device) != child.devices.end();
        });
    return children;
}

// Returns the readings of a device, if the driver still reports them.
const DeviceState* stateOf(const DeviceDetails& details, std::uint32_t index) {
    const auto found = details.states.find(index);
    return found == details.states.end() || !details.driverAnswers ||
                   found->second.health == "stale" || found->second.health == "lost"
               ? nullptr
               : &found->second;
}

std::optional<std::uint64_t> knownBytes(const Device& device) {
    return device.totalMemoryBytes == 0 ? std::nullopt : std::optional(device.totalMemoryBytes);
}

std::string percentText(std::optional<std::uint32_t> percent) {
    return percent ? fmt::format("{}%", *percent) : unknown;
}

std::string temperatureText(std::optional<std::int32_t> celsius) {
    return celsius ? fmt::format("{}°C", *celsius) : unknown;
}

std::uint64_t unaccountedBytes(const DeviceDetails& details, std::uint32_t index) {
    const auto found = details.states.find(index);
    return found == details.states.end() ? 0 : found->second.unaccountedMemoryBytes;
}

std::string outsideText(const DeviceDetails& details, std::uint32_t index) {
    if (!details.driverAnswers)
        return unknown;
    const std::uint64_t unaccounted = unaccountedBytes(details, index);
    std::vector<std::string> uses;
    if (const auto users = details.outside.find(index); users != details.outside.end())
        uses.push_back(fmt::format("in use by {}, outside genv", joined(users->second, ", ")));
    if (unaccounted > 0)
        uses.push_back(core::describeUnaccounted({unaccounted}));
    return joined(uses, "; ");
}

std::string userText(const std::optional<DeviceDetails>& details, const std::string& environment) {
    if (!details)
        return "";
    const auto owner = details->owners.find(environment);
    return owner == details->owners.end()
               ? ""
               : fmt::format("{}({})", owner->second.user, owner->second.uid);
}

// Returns the cells about the device itself, which follow USER.
std::vector<std::string> deviceCells(const std::optional<DeviceDetails>& details,
                                     const Device& device) {
    if (!details)
        return std::vector<std::string>(5);
    const DeviceState* state = stateOf(*details, device.index);
    const auto used = state != nullptr ? state->usedMemoryBytes : std::nullopt;
    return {device.model,
            fmt::format("{}/{} GiB", memoryText(used), memoryText(knownBytes(device))),
            percentText(state != nullptr ? state->sensors.utilizationPercent : std::nullopt),
            temperatureText(state != nullptr ? state->sensors.temperatureCelsius : std::nullopt),
            outsideText(*details, device.index)};
}

bool isUsedOutside(const DeviceList& devices) {
    return devices.details &&
           (!devices.details->outside.empty() || !devices.details->driverAnswers ||
            std::ranges::any_of(devices.details->states, [](const auto& entry) {
                return entry.second.unaccountedMemoryBytes > 0;
            }));
}

// Adds the rows of one device.
class DeviceRows {
  public:
    DeviceRows(Table& table, const DeviceList& devices, const ListingOptions& options,
               bool withOutside)
        : table_(table), devices_(devices), options_(options), withOutside_(withOutside) {}

    void add(const HeldDevice& held) {
        const std::string index = std::to_string(held.device.index);
        cells_ = deviceCells(devices_.details, held.device);
        if (held.attachments.empty())
            row({index, "", "", "", ""});
        for (const Attachment& attachment : held.attachments) {
            const std::string& id = attachment.environment;
            row({index, id, attachment.environmentName.value_or(""),
                 options_.time(attachment.since) + stays(id), userText(devices_.details, id)});
            for (const Child& child : childrenWith(devices_.holders, attachment))
                row({index, "- " + child.id, child.name.value_or(""),
                     "within " + id + stays(child.id), userText(devices_.details, child.id)});
        }
        addParked(held.device.index);
    }

  private:
    // The cells about the device itself are only in its first row. In CSV they are in every row,
    // because programs read single rows.
    void row(std::vector<std::string> cells) {
        cells.insert(cells.end(), cells_.begin(), cells_.end());
        if (!withOutside_)
            cells.pop_back();
        table_.add(std::move(cells));
        if (options_.format != "csv")
            cells_.assign(cells_.size(), "");
    }

    // The environments that gave up the device for others.
    void addParked(std::uint32_t index) {
        const auto found = devices_.holders.parked.find(index);
        if (found == devices_.holders.parked.end())
            return;
        for (const Child& parked : found->second)
            row({std::to_string(index), parked.id, parked.name.value_or(""),
                 parkingNote(devices_.holders.loans, parked.id, currentTime()),
                 userText(devices_.details, parked.id)});
    }

    [[nodiscard]] std::string stays(const std::string& id) const {
        const auto pids = devices_.holders.lingering.find(id);
        if (pids != devices_.holders.lingering.end())
            return fmt::format(" (lingering: {})", joined(pids->second, " "));
        return isOnLoan(devices_.holders.loans, id) ? " (on loan)" : "";
    }

    Table& table_;
    const DeviceList& devices_;
    const ListingOptions& options_;
    const bool withOutside_;
    std::vector<std::string> cells_;
};

} // namespace

std::string memoryText(std::optional<std::uint64_t> bytes) {
    constexpr double gibibyte = 1024.0 * 1024 * 1024;
    return bytes ? fmt::format("{:.1f}", static_cast<double>(*bytes) / gibibyte) : unknown;
}

DeviceDetails deviceDetails(const Machine& machine,
                            const std::optional<std::vector<ProcessDescription>>& processes) {
    DeviceDetails details;
    details.driverAnswers = processes.has_value();
    for (const Environment& environment : machine.environments)
        details.owners[environment.id] = {environment.uid, environment.user};
    for (const DeviceState& state : machine.devices)
        details.states[state.device.index] = state;
    if (!processes)
        return details;
    for (const ProcessDescription& process : *processes) {
        if (process.environment)
            continue;
        for (const ProcessUse& use : process.uses) {
            std::vector<std::string>& users = details.outside[use.device];
            if (std::ranges::find(users, process.user) == users.end())
                users.push_back(process.user);
        }
    }
    return details;
}

Table deviceTable(const DeviceList& devices, const ListingOptions& options) {
    std::vector<Table::Column> columns{{"ID", 8},
                                       {"ENV ID", 12},
                                       {"ENV NAME", 16, 2},
                                       {"ATTACHED", 16, 3},
                                       {"USER", 12, 1, true},
                                       {"MODEL", 20, 7, true},
                                       {"MEMORY", 14, 5, true},
                                       {"UTIL", 6, 6, true},
                                       {"TEMP", 6, 8, true}};
    const bool withOutside = options.wide || isUsedOutside(devices);
    if (withOutside)
        columns.push_back({"OUTSIDE", 0, 4, true});
    Table table(std::move(columns));
    DeviceRows rows(table, devices, options, withOutside);
    for (const HeldDevice& held : devices.held)
        rows.add(held);
    return table;
}

} // namespace genv::ctl
