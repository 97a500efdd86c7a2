// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/notify/notice_groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <string_view>

namespace genv::notify {

namespace {

using core::DeviceIndex;

constexpr std::string_view processLost = "process-lost";

// The kinds whose notices become separate sentences. For a device, only the newest of them counts.
constexpr std::array<std::string_view, 6> separateKinds{
    "device-health", "warning", "memory", "over-subscribed", "open-refused", processLost};

// The newest of these notices tells the present state, and makes the earlier ones obsolete.
constexpr std::array<std::string_view, 6> parkingStates{
    "parked", "resumed", "parking-failed", "resume-delayed", "parked-long", "loan-ending"};

std::uint64_t toNumber(std::string_view text) {
    std::uint64_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

bool isParkingState(std::string_view kind) {
    return std::find(parkingStates.begin(), parkingStates.end(), kind) != parkingStates.end();
}

bool isSeparate(std::string_view kind) {
    return std::find(separateKinds.begin(), separateKinds.end(), kind) != separateKinds.end();
}

// Whether a notice adds to a group.
bool belongsTo(const Group& group, const Notice& notice, const std::string& actor) {
    const Details details(notice);
    if (group.kind != notice.kind)
        return false;
    if (isSeparate(notice.kind))
        return details.device().index == Details(group.last.notice).device().index &&
               details.text("by") == Details(group.last.notice).text("by") &&
               details.text("message") == Details(group.last.notice).text("message");
    if (notice.kind == "expiring")
        return details.has("device") == !group.devices.empty() &&
               details.text("left") == Details(group.last.notice).text("left");
    return group.reason == details.text("reason") && group.actor == actor;
}

// Returns "root (alice)" if the user who logged in and then acted as root is known.
std::string actorName(const Details& details) {
    std::string name = userName(static_cast<std::uint32_t>(details.number("actor")));
    if (!details.has("actor-login"))
        return name;
    return fmt::format("{} ({})", name,
                       userName(static_cast<std::uint32_t>(details.number("actor-login"))));
}

// Removes groups whose content is part of another group.
void dropRepetitions(std::vector<Group>& groups) {
    const auto has = [all = groups](std::string_view kind, const std::string* reason) {
        return std::any_of(all.begin(), all.end(), [&](const Group& group) {
            return group.kind == kind && (reason == nullptr || group.reason == *reason);
        });
    };
    const std::string lost = "device-lost";
    std::erase_if(groups, [&](const Group& group) {
        return (group.kind == "detached" && has("ended", &group.reason)) ||
               (group.kind == "memory" && has("warning", nullptr)) ||
               (group.kind == "device-health" && has("detached", &lost) &&
                Details(group.last.notice).text("health") == "lost");
    });
}

} // namespace

bool isAboutParking(std::string_view kind) {
    return isParkingState(kind) || kind == processLost;
}

std::string Details::text(const char* key) const {
    const auto found = notice_.details.find(key);
    return found == notice_.details.end() ? std::string() : found->second;
}

std::uint64_t Details::number(const char* key) const {
    return toNumber(text(key));
}

NamedDevice Details::device() const {
    return {static_cast<DeviceIndex>(number("device")), text("uuid")};
}

std::vector<std::uint32_t> Details::numbers(const char* key) const {
    std::vector<std::uint32_t> result;
    const std::string list = text(key);
    for (std::string_view rest = list; !rest.empty();) {
        const std::string_view one = rest.substr(0, rest.find(','));
        result.push_back(static_cast<std::uint32_t>(toNumber(one)));
        rest.remove_prefix(std::min(rest.size(), one.size() + 1));
    }
    return result;
}

std::vector<DeviceIndex> Group::indices() const {
    std::vector<DeviceIndex> result;
    for (const auto& [index, uuid] : devices)
        result.push_back(index);
    return result;
}

std::vector<core::Pid> Group::pids() const {
    std::vector<core::Pid> result;
    for (const auto& [pid, command] : processes)
        result.push_back(pid);
    return result;
}

std::string_view Group::rule() const {
    return isRule() ? std::string_view(reason).substr(rulePrefix.size()) : std::string_view();
}

core::WallTime Group::end() const {
    return last.when + std::chrono::seconds(Details(last.notice).number("left"));
}

std::vector<Group> grouped(const std::vector<ReceivedNotice>& received) {
    std::vector<Group> groups;
    for (const ReceivedNotice& each : received) {
        const Details details(each.notice);
        const std::string actor = actorName(details);
        if (isParkingState(each.notice.kind))
            std::erase_if(groups, [](const Group& known) { return isParkingState(known.kind); });
        auto group = std::find_if(groups.begin(), groups.end(), [&](const Group& known) {
            return belongsTo(known, each.notice, actor);
        });
        if (group == groups.end())
            group = groups.insert(group, {each.notice.kind,
                                          each.notice.environment,
                                          details.text("reason"),
                                          actor,
                                          {},
                                          {},
                                          {}});
        group->last = each;
        if (details.has("device"))
            group->devices[details.device().index] = details.device().uuid;
        for (const DeviceIndex index : details.devices())
            group->devices.emplace(index, "");
        if (details.has("pid"))
            group->processes.emplace(static_cast<core::Pid>(details.number("pid")),
                                     details.text("command"));
        for (const core::Pid pid : details.pids())
            group->processes.emplace(pid, "");
    }
    dropRepetitions(groups);
    return groups;
}

} // namespace genv::notify
