// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/libgenv/conversions.hpp"

#include "client/libgenv/dictionary.hpp"
#include "client/libgenv/option_values.hpp"
#include "client/libgenv/proxies.hpp"
#include "dbus/contract/names.hpp"
#include "dbus/contract/raw_bus.hpp"
#include "dbus/contract/sdbus_compat.hpp"

#include <algorithm>
#include <limits>
#include <tuple>

namespace genv::client {

namespace contract = dbus::contract;

namespace {

template <typename Value>
std::string listText(const std::vector<Value>& values) {
    std::string text;
    for (const Value& value : values) {
        if (!text.empty())
            text += ',';
        if constexpr (std::is_same_v<Value, std::string>)
            text += value;
        else
            text += std::to_string(value);
    }
    return text;
}

// Reads a single value, or else a list of values under another name.
template <typename Value>
std::vector<Value> oneOrMore(const Dictionary& details, const char* one, const char* more) {
    if (auto value = detail<Value>(details, one))
        return {std::move(*value)};
    return detail<std::vector<Value>>(details, more).value_or(std::vector<Value>{});
}

// Returns nothing for a value that no clock can have measured.
std::optional<std::chrono::microseconds> spanOf(const Dictionary& details, const char* name) {
    const auto microseconds = detail<std::uint64_t>(details, name);
    if (!microseconds || *microseconds > std::numeric_limits<std::int64_t>::max())
        return std::nullopt;
    return std::chrono::microseconds{static_cast<std::int64_t>(*microseconds)};
}

} // namespace

HistoryEvent toHistoryEvent(const Dictionary& event) {
    HistoryEvent row;
    row.cursor = property<std::string>(event, "cursor");
    row.time = toTime(property<std::uint64_t>(event, "time"));
    row.kind = property<std::string>(event, "kind");
    row.message = property<std::string>(event, "message");
    row.environment = detail<std::string>(event, "environment");
    row.name = detail<std::string>(event, "name");
    row.uid = detail<std::uint32_t>(event, "uid");
    row.user = detail<std::string>(event, "user");
    row.devices = oneOrMore<std::uint32_t>(event, "device", "devices");
    row.uuids = oneOrMore<std::string>(event, "uuid", "uuids");
    row.model = detail<std::string>(event, "model");
    row.shareBytes = detail<std::uint64_t>(event, "share");
    row.overSubscribed = detail<bool>(event, "over-subscribed").value_or(false);
    row.reason = detail<std::string>(event, "reason");
    row.caller = detail<std::uint32_t>(event, "caller");
    row.callerUser = detail<std::string>(event, "caller-user");
    row.method = detail<std::string>(event, "method");
    row.action = detail<std::string>(event, "action");
    row.error = detail<std::string>(event, "error");
    row.pid = detail<std::uint32_t>(event, "pid");
    row.rule = detail<std::string>(event, "rule");
    row.health = detail<std::string>(event, "health");
    row.count = detail<std::uint32_t>(event, "count");
    row.waited = spanOf(event, "waited");
    row.held = spanOf(event, "held");
    row.left = spanOf(event, "left");
    if (const auto since = spanOf(event, "since"))
        row.since = Time{*since};
    row.settings = detail<std::string>(event, "settings");
    return row;
}

namespace {

// Options of a wait are sent only together with "wait".
Dictionary withoutStrayOptions(Dictionary arguments) {
    if (!arguments.contains("wait")) {
        arguments.erase("timeout");
        arguments.erase("hold-for-quota");
        arguments.erase("priority");
    }
    return arguments;
}

} // namespace

Dictionary toDictionary(const ActivateOptions& options) {
    return withoutStrayOptions(options.values().arguments);
}

Dictionary toDictionary(const AttachOptions& options) {
    return withoutStrayOptions(options.values().arguments);
}

Environment toEnvironment(const Properties& properties) {
    Environment environment;
    environment.id = property<std::string>(properties, "Id");
    environment.uid = property<std::uint32_t>(properties, "Uid");
    environment.user = property<std::string>(properties, "User");
    environment.created = toTime(property<std::uint64_t>(properties, "Created"));
    environment.configuration.name = unlessZero(property<std::string>(properties, "Name"));
    environment.configuration.gpus = unlessZero(property<std::uint32_t>(properties, "Gpus"));
    environment.configuration.gpuMemoryBytes =
        unlessZero(property<std::uint64_t>(properties, "GpuMemory"));
    environment.processes = property<std::vector<std::uint32_t>>(properties, "Processes");
    environment.kernels = property<std::vector<std::string>>(properties, "Kernels");
    environment.devices = property<std::vector<std::uint32_t>>(properties, "Devices");
    if (const auto expires = unlessZero(property<std::uint64_t>(properties, "Expires")))
        environment.expires = toTime(*expires);
    environment.lingering = property<bool>(properties, "Lingering");
    return environment;
}

std::optional<std::string> toParent(const Properties& properties) {
    return unlessZero(property<std::string>(properties, "Parent"));
}

bool toOverSubscribable(const Properties& properties) {
    return property<bool>(properties, "OverSubscribable");
}

std::map<std::string, std::string> toParents(const ManagedObjects& objects) {
    std::map<std::string, std::string> parents;
    for (const auto& [path, interfaces] : objects) {
        const auto found = interfaces.find(EnvironmentProxy::INTERFACE_NAME);
        if (found == interfaces.end())
            continue;
        if (const auto parent = toParent(found->second))
            parents.emplace(property<std::string>(found->second, "Id"), *parent);
    }
    return parents;
}

HistoryDetails toHistoryDetails(const Dictionary& event) {
    HistoryDetails details;
    details.parent = detail<std::string>(event, "parent");
    details.callerLogin = detail<std::uint32_t>(event, "caller-login");
    details.callerLoginUser = detail<std::string>(event, "caller-login-user");
    details.command = detail<std::string>(event, "command");
    return details;
}

std::vector<Environment> toEnvironments(const ManagedObjects& objects) {
    std::vector<Environment> environments;
    for (const auto& [path, interfaces] : objects) {
        const auto found = interfaces.find(EnvironmentProxy::INTERFACE_NAME);
        if (found != interfaces.end())
            environments.push_back(toEnvironment(found->second));
    }
    std::sort(environments.begin(), environments.end(),
              [](const Environment& a, const Environment& b) {
                  return std::tie(a.created, a.id) < std::tie(b.created, b.id);
              });
    return environments;
}

DeviceState toDeviceState(const Properties& properties) {
    DeviceState state;
    state.device = {property<std::uint32_t>(properties, "Index"),
                    property<std::string>(properties, "UUID"),
                    property<std::string>(properties, "Model"),
                    unlessLargest(property<std::uint64_t>(properties, "TotalMemory")).value_or(0)};
    state.availableMemoryBytes =
        unlessLargest(property<std::uint64_t>(properties, "AvailableMemory")).value_or(0);
    for (auto& row : property<BusAttachments>(properties, "Attachments"))
        state.attachments.push_back({state.device.index, std::move(row.get<0>()), std::nullopt,
                                     unlessZero(row.get<1>()), toTime(row.get<2>())});
    state.lockHolder = unlessZero(property<std::string>(properties, "LockedBy"));
    state.health = property<std::string>(properties, "Health");
    state.usedMemoryBytes = unlessLargest(property<std::uint64_t>(properties, "UsedMemory"));
    state.utilizationPercent = unlessLargest(property<std::uint32_t>(properties, "Utilization"));
    state.temperatureCelsius = unlessLargest(property<std::int32_t>(properties, "Temperature"));
    state.powerMilliwatts = unlessLargest(property<std::uint64_t>(properties, "PowerUsage"));
    if (const auto sampledAt = unlessZero(property<std::uint64_t>(properties, "SampledAt")))
        state.sampledAt = toTime(*sampledAt);
    return state;
}

Overview toOverview(const ManagedObjects& objects) {
    Overview overview{{}, toEnvironments(objects)};
    for (const auto& [path, interfaces] : objects) {
        const auto found = interfaces.find(DeviceProxy::INTERFACE_NAME);
        if (found != interfaces.end())
            overview.devices.push_back(toDeviceState(found->second));
    }
    std::sort(
        overview.devices.begin(), overview.devices.end(),
        [](const DeviceState& a, const DeviceState& b) { return a.device.index < b.device.index; });
    return overview;
}

std::map<std::uint32_t, std::string> toLockHolders(const ManagedObjects& objects) {
    std::map<std::uint32_t, std::string> holders;
    for (const auto& [path, interfaces] : objects) {
        const auto found = interfaces.find(DeviceProxy::INTERFACE_NAME);
        if (found == interfaces.end())
            continue;
        if (auto holder = unlessZero(property<std::string>(found->second, "LockedBy")))
            holders.emplace(property<std::uint32_t>(found->second, "Index"), *std::move(holder));
    }
    return holders;
}

std::map<std::uint32_t, std::string> toReservations(const ManagedObjects& objects) {
    std::map<std::uint32_t, std::string> reservations;
    for (const auto& [path, interfaces] : objects) {
        const auto found = interfaces.find(DeviceProxy::INTERFACE_NAME);
        if (found == interfaces.end())
            continue;
        auto whose = detail<std::string>(found->second, "ReservedFor");
        if (whose && !whose->empty())
            reservations.emplace(property<std::uint32_t>(found->second, "Index"),
                                 *std::move(whose));
    }
    return reservations;
}

ServiceStatus toServiceStatus(const Properties& properties) {
    return {property<std::string>(properties, "Version"),
            property<std::uint32_t>(properties, "DeviceCount"),
            property<std::uint32_t>(properties, "EnvironmentCount")};
}

IsolationState toIsolation(const Dictionary& isolation) {
    using Indices = std::vector<std::uint32_t>;
    return {property<std::string>(isolation, "mode"), property<std::string>(isolation, "wanted"),
            property<bool>(isolation, "suspended"),   property<std::string>(isolation, "trouble"),
            property<Indices>(isolation, "guarded"),  property<Indices>(isolation, "unguarded"),
            property<Indices>(isolation, "open"),     property<bool>(isolation, "docker-user")};
}

std::vector<RefusedOpen> toRefusedOpens(BusRefusedOpens refusals) {
    std::vector<RefusedOpen> rows;
    rows.reserve(refusals.size());
    for (auto& row : refusals)
        rows.push_back({row.get<0>(), unlessLargest(row.get<1>()), std::move(row.get<2>()),
                        row.get<3>(), toTime(row.get<4>()), row.get<5>(), std::move(row.get<6>())});
    return rows;
}

std::map<std::uint32_t, std::uint64_t> toRefusedOpenCounts(const ManagedObjects& objects) {
    std::map<std::uint32_t, std::uint64_t> counts;
    for (const auto& [path, interfaces] : objects) {
        const auto found = interfaces.find(DeviceProxy::INTERFACE_NAME);
        if (found == interfaces.end())
            continue;
        if (const auto count = detail<std::uint64_t>(found->second, "RefusedOpens"))
            counts.emplace(property<std::uint32_t>(found->second, "Index"), *count);
    }
    return counts;
}

std::vector<EnforcementAction> toActions(const BusActions& actions) {
    std::vector<EnforcementAction> result;
    result.reserve(actions.size());
    for (const auto& action : actions) {
        const Dictionary& details = action.get<1>();
        result.push_back({action.get<0>(), detail<std::string>(details, "rule").value_or(""),
                          property<std::string>(details, "message"),
                          detail<std::string>(details, "user").value_or(""),
                          detail<std::uint32_t>(details, "pid"),
                          detail<std::string>(details, "environment"),
                          detail<std::vector<std::uint32_t>>(details, "devices")
                              .value_or(std::vector<std::uint32_t>{})});
    }
    return result;
}

std::map<std::string, Limit> toLimits(const BusLimits& limits) {
    std::map<std::string, Limit> result;
    for (const auto& [name, numbers] : limits) {
        Limit limit{numbers.get<0>(), numbers.get<1>()};
        if (limit.allowed == std::numeric_limits<std::uint64_t>::max())
            limit.allowed.reset();
        result.emplace(name, limit);
    }
    return result;
}

std::string toText(const sdbus::Variant& value) {
    const std::string type = value.peekValueType();
    if (type == "s")
        return value.get<std::string>();
    if (type == "u")
        return std::to_string(value.get<std::uint32_t>());
    if (type == "t")
        return std::to_string(value.get<std::uint64_t>());
    if (type == "i")
        return std::to_string(value.get<std::int32_t>());
    if (type == "b")
        return value.get<bool>() ? "yes" : "no";
    if (type == "au")
        return listText(value.get<std::vector<std::uint32_t>>());
    if (type == "as")
        return listText(value.get<std::vector<std::string>>());
    return {};
}

std::vector<UserUse> toUse(BusUse use) {
    std::vector<UserUse> users;
    users.reserve(use.size());
    for (auto& row : use)
        users.push_back({row.get<0>(), std::move(row.get<1>()), row.get<2>(), row.get<3>()});
    return users;
}

std::vector<QueueEntry> toQueue(BusQueue queue) {
    std::vector<QueueEntry> entries;
    entries.reserve(queue.size());
    for (auto& row : queue)
        entries.push_back({row.get<0>(), std::move(row.get<1>()), row.get<2>(), row.get<3>(),
                           toTime(row.get<4>())});
    return entries;
}

QueueDescription toQueueDescription(const Dictionary& row) {
    QueueDescription description;
    description.entry = {property<std::uint64_t>(row, "ticket"),
                         property<std::string>(row, "environment"),
                         property<std::uint32_t>(row, "uid"), property<std::uint32_t>(row, "count"),
                         toTime(property<std::uint64_t>(row, "since"))};
    description.position = property<std::uint32_t>(row, "position");
    description.user = property<std::string>(row, "user");
    description.parent = detail<std::string>(row, "parent");
    description.waitsFor = property<std::string>(row, "waits-for");
    const auto timeOf = [&row](const char* name) -> std::optional<Time> {
        const auto time = detail<std::uint64_t>(row, name);
        return time ? std::optional(toTime(*time)) : std::nullopt;
    };
    description.expectedStart = timeOf("expected-start");
    description.order = property<std::string>(row, "order");
    description.useGpuSeconds = property<double>(row, "use");
    description.weight = property<std::uint32_t>(row, "weight");
    description.priority = property<std::int32_t>(row, "priority");
    description.overtakings = property<std::uint32_t>(row, "overtakings");
    description.firstSince = timeOf("first-since");
    if (auto limit = detail<std::string>(row, "limit"))
        description.hold = {std::move(*limit), property<std::uint64_t>(row, "used"),
                            property<std::uint64_t>(row, "allowed")};
    return description;
}

std::pair<std::uint32_t, Notice> toNotice(sdbus::Message& signal) {
    std::uint32_t uid = 0;
    Notice notice;
    Dictionary details;
    signal >> uid >> notice.kind >> notice.environment >> details;
    for (const auto& [key, value] : details)
        notice.details.emplace(key, toText(value));
    return {uid, std::move(notice)};
}

std::optional<Event> toEvent(sdbus::Message& signal) {
    const std::string member = dbus::compat::memberOf(signal);
    Event event;
    event.time = now();
    const auto readEnvironment = [&] {
        std::string id;
        signal >> id;
        event.environment = unlessZero(std::move(id));
    };
    const auto readNumber = [&](std::optional<std::uint32_t>& number) {
        signal >> number.emplace();
    };
    if (member == "EnvironmentAdded" || member == "EnvironmentRemoved") {
        event.kind = member == "EnvironmentAdded" ? Event::Kind::EnvironmentAdded
                                                  : Event::Kind::EnvironmentRemoved;
        readEnvironment();
    } else if (member == "Attached") {
        event.kind = Event::Kind::Attached;
        readEnvironment();
        readNumber(event.device);
    } else if (member == "Detached") {
        event.kind = Event::Kind::Detached;
        readEnvironment();
        readNumber(event.device);
        signal >> event.reason;
    } else if (member == "ProcessTerminated") {
        event.kind = Event::Kind::ProcessTerminated;
        readNumber(event.pid);
        readEnvironment();
        signal >> event.reason;
    } else if (member == "Notice") {
        event.kind = Event::Kind::Notice;
        std::tie(event.uid, event.notice) = toNotice(signal);
        event.environment = unlessZero(event.notice->environment);
    } else if (member == "QueueChanged") {
        event.kind = Event::Kind::QueueChanged;
    } else {
        return std::nullopt;
    }
    return event;
}

Time now() {
    return std::chrono::time_point_cast<Time::duration>(std::chrono::system_clock::now());
}

Time toTime(std::uint64_t microseconds) {
    return Time{std::chrono::microseconds{static_cast<std::int64_t>(microseconds)}};
}

std::string environmentPath(const std::string& id) {
    return dbus::raw::encodePath(contract::environmentPathPrefix, id);
}

std::string environmentId(const std::string& path) {
    return dbus::raw::decodePath(contract::environmentPathPrefix, path).value_or("");
}

} // namespace genv::client
