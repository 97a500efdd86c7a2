// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/reports/device_table.hpp"

#include "client/genvctl/terminal/text.hpp"
#include "core/sentences.hpp"

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

std::vector<OutsideUse> outsideUses(const DeviceDetails& details, std::uint32_t index) {
    const auto found = details.outside.find(index);
    return found == details.outside.end() ? std::vector<OutsideUse>{} : found->second;
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
    const auto found = details.conditions.find(index);
    return found == details.conditions.end() ? 0 : found->second.unaccountedMemoryBytes;
}

// Lists each user once.
std::string outsideText(const DeviceDetails& details, std::uint32_t index) {
    if (!details.driverAnswers)
        return unknown;
    const std::uint64_t unaccounted = unaccountedBytes(details, index);
    std::vector<std::string> users;
    for (const OutsideUse& use : outsideUses(details, index)) {
        if (std::ranges::find(users, use.user) == users.end())
            users.push_back(use.user);
    }
    std::vector<std::string> uses;
    if (!users.empty())
        uses.push_back(fmt::format("in use by {}, outside genv", joined(users, ", ")));
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
            percentText(state != nullptr ? state->utilizationPercent : std::nullopt),
            temperatureText(state != nullptr ? state->temperatureCelsius : std::nullopt),
            outsideText(*details, device.index)};
}

bool isUsedOutside(const DeviceList& devices) {
    return devices.details &&
           (!devices.details->outside.empty() || !devices.details->driverAnswers ||
            std::ranges::any_of(devices.details->conditions, [](const auto& entry) {
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

    [[nodiscard]] std::string stays(const std::string& id) const {
        const auto pids = devices_.holders.lingering.find(id);
        return pids == devices_.holders.lingering.end()
                   ? ""
                   : fmt::format(" (lingering: {})", joined(pids->second, " "));
    }

    Table& table_;
    const DeviceList& devices_;
    const ListingOptions& options_;
    const bool withOutside_;
    std::vector<std::string> cells_;
};

Json attachmentsJson(const HeldDevice& held, const Holders& known, const DeviceDetails& details) {
    Json holders = Json::array();
    for (const Attachment& attachment : held.attachments) {
        Json within = Json::array();
        for (const Child& child : childrenWith(known, attachment))
            within.push_back({{"environment", child.id}, {"name", orNull(child.name)}});
        const auto owner = details.owners.find(attachment.environment);
        const bool isKnown = owner != details.owners.end();
        holders.push_back({{"environment", attachment.environment},
                           {"name", orNull(attachment.environmentName)},
                           {"uid", isKnown ? Json(owner->second.uid) : Json(nullptr)},
                           {"user", isKnown ? Json(owner->second.user) : Json(nullptr)},
                           {"gpu_memory", orNull(attachment.shareBytes)},
                           {"since", toJson(attachment.since)},
                           {"lingering", known.lingering.contains(attachment.environment)},
                           {"within", std::move(within)}});
    }
    return holders;
}

// Returns null if the driver does not respond.
Json outsideJson(const DeviceDetails& details, std::uint32_t index) {
    if (!details.driverAnswers)
        return nullptr;
    Json uses = Json::array();
    for (const OutsideUse& use : outsideUses(details, index))
        uses.push_back({{"pid", use.pid}, {"uid", use.uid}, {"user", use.user}});
    return uses;
}

} // namespace

std::string memoryText(std::optional<std::uint64_t> bytes) {
    constexpr double gibibyte = 1024.0 * 1024 * 1024;
    return bytes ? fmt::format("{:.1f}", static_cast<double>(*bytes) / gibibyte) : unknown;
}

DeviceDetails deviceDetails(const Overview& overview,
                            const std::optional<std::vector<ComputeProcess>>& processes,
                            const UserNames& user) {
    DeviceDetails details;
    details.driverAnswers = processes.has_value();
    for (const Environment& environment : overview.environments)
        details.owners[environment.id] = {environment.uid, environment.user};
    for (const DeviceState& state : overview.devices)
        details.states[state.device.index] = state;
    if (!processes)
        return details;
    for (const ComputeProcess& process : *processes) {
        if (process.environment)
            continue;
        for (const DeviceUse& use : process.uses)
            details.outside[use.device].push_back({process.pid, process.uid, user(process.uid)});
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

Json devicesJson(const DeviceList& devices,
                 const std::map<std::uint32_t, std::string>& reservations) {
    const DeviceDetails details = devices.details.value_or(DeviceDetails{});
    Json all = Json::array();
    for (const HeldDevice& held : devices.held) {
        const Device& device = held.device;
        const auto reserved = reservations.find(device.index);
        const auto condition = details.conditions.find(device.index);
        const auto found = details.states.find(device.index);
        const DeviceState state = found == details.states.end() ? DeviceState{} : found->second;
        all.push_back(
            {{"index", device.index},
             {"uuid", device.uuid},
             {"model", device.model},
             {"total_memory", orNull(knownBytes(device))},
             {"free", condition == details.conditions.end() ? Json(nullptr)
                                                            : Json(condition->second.isFree)},
             {"unaccounted_memory", condition == details.conditions.end()
                                        ? Json(nullptr)
                                        : Json(condition->second.unaccountedMemoryBytes)},
             {"reserved_for",
              reserved == reservations.end() ? Json(nullptr) : Json(reserved->second)},
             {"health", state.health.empty() ? Json(nullptr) : Json(state.health)},
             {"used_memory", orNull(state.usedMemoryBytes)},
             {"utilization", orNull(state.utilizationPercent)},
             {"temperature", orNull(state.temperatureCelsius)},
             {"power_milliwatts", orNull(state.powerMilliwatts)},
             {"sampled_at", state.sampledAt ? toJson(*state.sampledAt) : Json(nullptr)},
             {"outside", outsideJson(details, device.index)},
             {"attachments", attachmentsJson(held, devices.holders, details)}});
    }
    return all;
}

} // namespace genv::ctl
