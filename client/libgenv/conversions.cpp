// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/libgenv/conversions.hpp"

#include "client/libgenv/dictionary.hpp"
#include "client/libgenv/option_contents.hpp"
#include "client/libgenv/proxies.hpp"
#include "dbus/contract/names.hpp"
#include "dbus/contract/raw_bus.hpp"
#include "dbus/contract/sdbus_compat.hpp"
#include "dbus/contract/sensors.hpp"

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
    row.parent = detail<std::string>(event, "parent");
    row.callerLogin = detail<std::uint32_t>(event, "caller-login");
    row.callerLoginUser = detail<std::string>(event, "caller-login-user");
    row.command = detail<std::string>(event, "command");
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

namespace {

std::optional<Time> timeUnlessZero(std::uint64_t microseconds) {
    return microseconds == 0 ? std::nullopt : std::optional(toTime(microseconds));
}

ParkingState toParkingState(const Properties& properties) {
    ParkingState parking;
    parking.state = property<std::string>(properties, "State");
    for (const auto& row : property<BusAttached>(properties, "ParkedDevices"))
        parking.devices.push_back({row.get<0>(), row.get<1>()});
    parking.memoryBytes = property<std::uint64_t>(properties, "ParkedMemory");
    parking.since = timeUnlessZero(property<std::uint64_t>(properties, "ParkedSince"));
    parking.reason = property<std::string>(properties, "ParkedReason");
    parking.takenBy = property<std::string>(properties, "TakenBy");
    const auto progress = property<BusProgress>(properties, "ParkingProgress");
    parking.movedBytes = progress.get<0>();
    parking.bytesToMove = progress.get<1>();
    parking.problem = property<std::string>(properties, "ParkingProblem");
    return parking;
}

} // namespace

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
    environment.expires = timeUnlessZero(property<std::uint64_t>(properties, "Expires"));
    environment.lingering = property<bool>(properties, "Lingering");
    for (const auto& device : property<BusAttached>(properties, "Attached"))
        environment.attached.push_back({device.get<0>(), timeUnlessZero(device.get<1>())});
    environment.parent = unlessZero(property<std::string>(properties, "Parent"));
    environment.job = unlessZero(property<std::string>(properties, "Job"));
    environment.overSubscribable = property<bool>(properties, "OverSubscribable");
    environment.preemptible = property<std::string>(properties, "Preemptible");
    environment.parking = toParkingState(properties);
    return environment;
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
    contract::visitSensors(state.sensors,
                           [&]<typename Number>(const auto& name, std::optional<Number>& value) {
                               value = unlessLargest(property<Number>(properties, name.property));
                           });
    state.sampledAt = timeUnlessZero(property<std::uint64_t>(properties, "SampledAt"));
    state.pciAddress = property<std::string>(properties, "PCIAddress");
    state.reservedFor = unlessZero(property<std::string>(properties, "ReservedFor"));
    state.isFree = property<bool>(properties, "Free");
    state.unaccountedMemoryBytes = property<std::uint64_t>(properties, "UnaccountedMemory");
    state.refusedOpens = property<std::uint64_t>(properties, "RefusedOpens");
    return state;
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
            property<Indices>(isolation, "open"),     property<bool>(isolation, "docker-user"),
            property<bool>(isolation, "render-nodes")};
}

std::vector<RefusedOpen> toRefusedOpens(BusRefusedOpens refusals) {
    std::vector<RefusedOpen> rows;
    rows.reserve(refusals.size());
    for (auto& row : refusals)
        rows.push_back({row.get<0>(), unlessLargest(row.get<1>()), std::move(row.get<2>()),
                        row.get<3>(), toTime(row.get<4>()), row.get<5>(), std::move(row.get<6>())});
    return rows;
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

namespace {

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

} // namespace

WaitingRequest toWaitingRequest(const Dictionary& row) {
    WaitingRequest request;
    request.description = toQueueDescription(row);
    request.preemptible = detail<std::string>(row, "preemptible").value_or("no");
    request.resumes = detail<bool>(row, "resumes").value_or(false);
    request.problem = detail<std::string>(row, "taking-problem");
    const auto taken = detail<BusTaking>(row, "taking");
    if (!taken || taken->empty())
        return request;
    Taking& taking = request.taking.emplace();
    for (const auto& environment : *taken) {
        taking.environments.push_back({environment.get<0>(), environment.get<1>(),
                                       environment.get<2>(), environment.get<3>()});
        taking.estimate = std::chrono::microseconds{environment.get<4>()};
    }
    taking.devices =
        detail<std::vector<std::uint32_t>>(row, "taking-devices").value_or(taking.devices);
    if (const auto deadline = detail<std::uint64_t>(row, "taking-deadline"))
        taking.deadline = toTime(*deadline);
    return request;
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
