// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/gpu/nvml_protocol.hpp"

#include "core/base/json_reader.hpp"
#include "core/base/text.hpp"
#include "dbus/contract/sensors.hpp"
#include "service/gpu/device_nodes.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <unordered_set>

namespace genv::service {

namespace {

using core::JsonValue;
using nlohmann::json;

constexpr std::uint64_t largest = std::numeric_limits<std::int64_t>::max();
constexpr std::uint32_t largestPid = std::numeric_limits<std::int32_t>::max();
// The maximum depth: a reply, its list, an object in the list, a list in the object, and a node in
// that list.
constexpr std::size_t deepest = 5;

std::optional<std::uint32_t> number32OrNull(const JsonValue& value,
                                            std::uint32_t max = UINT32_MAX) {
    return value.isNull() ? std::nullopt : std::optional(value.number32(max));
}

std::optional<core::Bytes> bytesOrNull(const JsonValue& value) {
    return value.isNull() ? std::nullopt : std::optional(core::Bytes{value.number(largest)});
}

std::optional<bool> booleanOrNull(const JsonValue& value) {
    return value.isNull() ? std::nullopt : std::optional(value.boolean());
}

std::string printableText(const JsonValue& value) {
    std::string text = value.text(maxTextLength);
    if (text.empty() || core::printable(text) != text)
        value.refuse(fmt::format("printable text of 1 to {} bytes", maxTextLength));
    return text;
}

// Returns an empty text for null.
std::string textOrNull(const JsonValue& value) {
    return value.isNull() ? std::string() : printableText(value);
}

std::string pciAddressOrNull(const JsonValue& value) {
    std::string address = textOrNull(value);
    if (!address.empty() && !isPciAddress(address))
        value.refuse("a PCI address");
    return address;
}

core::DeviceUuid uuidIn(const JsonValue& value) {
    std::string uuid = value.text();
    if (!isDeviceUuid(uuid))
        value.refuse("a UUID");
    return uuid;
}

template <typename T>
json orNull(const std::optional<T>& value) {
    return value ? json(*value) : json(nullptr);
}

json orNull(const std::optional<core::Bytes>& value) {
    return value ? json(value->count) : json(nullptr);
}

json orNull(const std::string& text) {
    return text.empty() ? json(nullptr) : json(text);
}

json encode(const std::vector<core::DeviceNode>& nodes) {
    json list = json::array();
    for (const core::DeviceNode& node : nodes)
        list.push_back(json::array({node.major, node.minor}));
    return list;
}

json encode(const core::DriverNode& node) {
    return {{"node", json::array({node.node.major, node.node.minor})},
            {"name", node.name},
            {"open", node.isOpen},
            {"pci", orNull(node.pciAddress)}};
}

json encode(const core::DeviceReading& reading) {
    json object = json::object();
    dbus::contract::visitSensors(
        reading, [&](const auto& name, const auto& value) { object[name.key] = orNull(value); });
    return object;
}

json encode(const NvmlDevice& device) {
    return {{"gpu", device.gpu},
            {"mig", orNull(device.mig)},
            {"uuid", device.uuid},
            {"model", device.model},
            {"total", device.totalMemory.count},
            {"used", orNull(device.reading.usedMemory)},
            {"sensors", encode(device.reading)},
            {"xid", orNull(device.xid)},
            {"pci", orNull(device.pciAddress)},
            {"nodes", encode(device.nodes)},
            {"unified", device.hasUnifiedMemory},
            {"free", orNull(device.memory.free)},
            {"unaccounted", orNull(device.memory.unaccounted)},
            {"persistence", orNull(device.persistence)}};
}

core::DeviceNode decodeNode(const JsonValue& value) {
    const auto numbers = value.listOf(2);
    return {numbers[0].number32(maxNodeMajor), numbers[1].number32(maxNodeMinor)};
}

core::DriverNode decodeDriverNode(const JsonValue& value) {
    value.requireMembers({"node", "name", "open", "pci"});
    return {decodeNode(value["node"]), printableText(value["name"]), value["open"].boolean(),
            pciAddressOrNull(value["pci"])};
}

// Consecutive uses of a device become one object.
json encode(const std::vector<core::ProcessSample>& uses) {
    json devices = json::array();
    for (auto use = uses.begin(); use != uses.end();) {
        const core::DeviceUuid& device = use->device;
        json pids = json::array();
        json memory = json::array();
        json utilization = json::array();
        for (; use != uses.end() && use->device == device; ++use) {
            pids.push_back(use->pid);
            memory.push_back(orNull(use->usedMemory));
            utilization.push_back(orNull(use->utilizationPercent));
        }
        devices.push_back({{"device", device},
                           {"pids", std::move(pids)},
                           {"memory", std::move(memory)},
                           {"utilization", std::move(utilization)}});
    }
    return devices;
}

// Returns the largest number that a sensor can have, by its unit.
constexpr std::uint32_t largestOf(std::string_view key) {
    constexpr std::uint32_t hottest = 1000;
    return key.ends_with("_percent") ? 100 : key.ends_with("_celsius") ? hottest : UINT32_MAX;
}

void decodeSensors(const JsonValue& value, core::DeviceReading& reading) {
    if (value.memberCount() != dbus::contract::sensors.size())
        value.refuse("an object with a member for each sensor");
    dbus::contract::visitSensors(
        reading, [&]<typename Number>(const auto& name, std::optional<Number>& member) {
            if (const auto number = number32OrNull(value[name.key], largestOf(name.key)))
                member = static_cast<Number>(*number);
        });
}

NvmlDevice decodeDevice(const JsonValue& value) {
    value.requireMembers({"gpu", "mig", "uuid", "model", "total", "used", "sensors", "xid", "pci",
                          "nodes", "unified", "free", "unaccounted", "persistence"});
    NvmlDevice device;
    device.gpu = value["gpu"].number32();
    device.mig = number32OrNull(value["mig"]);
    device.uuid = uuidIn(value["uuid"]);
    device.model = printableText(value["model"]);
    device.totalMemory = core::Bytes{value["total"].number(largest)};
    device.reading.usedMemory = bytesOrNull(value["used"]);
    decodeSensors(value["sensors"], device.reading);
    device.xid = number32OrNull(value["xid"]);
    device.pciAddress = pciAddressOrNull(value["pci"]);
    for (const JsonValue& node : value["nodes"].list(maxNodes))
        device.nodes.push_back(decodeNode(node));
    device.hasUnifiedMemory = value["unified"].boolean();
    device.memory = {bytesOrNull(value["free"]), bytesOrNull(value["unaccounted"])};
    device.persistence = booleanOrNull(value["persistence"]);
    return device;
}

// Tracks occupied positions: a device occupies either a whole GPU or one MIG instance on it.
class Places {
  public:
    explicit Places(std::uint32_t gpuCount) : gpuCount_(gpuCount) {}

    bool take(std::uint32_t gpu, std::optional<std::uint32_t> mig) {
        if (gpu >= gpuCount_)
            return false;
        const auto [place, isFirst] = instances_.try_emplace(gpu); // an empty set means a whole GPU
        if (!mig)
            return isFirst;
        const bool isDivided = isFirst || !place->second.empty();
        return isDivided && place->second.insert(*mig).second;
    }

  private:
    std::uint32_t gpuCount_;
    std::unordered_map<std::uint32_t, std::unordered_set<std::uint32_t>> instances_;
};

// Appends the uses of one device.
void decodeUses(const JsonValue& value, std::vector<core::ProcessSample>& uses) {
    const core::DeviceUuid device = uuidIn(value["device"]);
    const auto pids = value["pids"].list(maxUses - uses.size());
    const auto memory = value["memory"].listOf(pids.size());
    const auto utilization = value["utilization"].listOf(pids.size());
    for (std::size_t i = 0; i < pids.size(); ++i) {
        core::ProcessSample& use = uses.emplace_back();
        use.pid = pids[i].number32(largestPid, 1);
        use.device = device;
        use.usedMemory = bytesOrNull(memory[i]);
        use.utilizationPercent = number32OrNull(utilization[i], 100);
    }
}

NvmlReport decodeReport(const JsonValue& answer) {
    answer.requireMembers({"sample", "driver", "gpus", "devices", "failed", "uses", "nodes"});
    NvmlReport report;
    report.driverVersion = textOrNull(answer["driver"]);
    report.gpuCount = answer["gpus"].number32(maxDevices);
    std::unordered_set<std::string> uuids;
    Places places(report.gpuCount);
    for (const JsonValue& value : answer["devices"].list(maxDevices)) {
        report.devices.push_back(decodeDevice(value));
        if (!places.take(report.devices.back().gpu, report.devices.back().mig))
            throw ProtocolError("invalid device: unknown GPU, or listed twice");
        if (!uuids.insert(report.devices.back().uuid).second)
            throw ProtocolError("two devices have the same UUID");
    }
    for (const JsonValue& value : answer["failed"].list(maxDevices)) {
        value.requireMembers({"gpu", "lost"});
        report.failed.push_back({value["gpu"].number32(), value["lost"].boolean()});
        if (!places.take(report.failed.back().gpu, std::nullopt))
            throw ProtocolError("invalid failed GPU: unknown, or listed twice");
    }
    for (const JsonValue& value : answer["uses"].list(maxUses)) {
        value.requireMembers({"device", "pids", "memory", "utilization"});
        if (!uuids.contains(uuidIn(value["device"])))
            throw ProtocolError("invalid use: unknown device");
        decodeUses(value, report.uses);
    }
    for (const JsonValue& value : answer["nodes"].list(maxDriverNodes))
        report.nodes.push_back(decodeDriverNode(value));
    return report;
}

std::uint64_t decodeSample(const JsonValue& request) {
    request.requireMembers({"sample"});
    return request["sample"].number(largest);
}

// Returns a reason, which the answer has in place of a report.
std::string decodeReason(const JsonValue& answer, const char* name) {
    answer.requireMembers({"sample", name});
    return printableText(answer[name]);
}

std::pair<std::uint64_t, NvmlAnswer> decodeNumberedAnswer(const JsonValue& answer) {
    NvmlAnswer result;
    if (answer.has("no_driver"))
        result = NvmlNoDriver{decodeReason(answer, "no_driver")};
    else if (answer.has("error"))
        result = NvmlFailure{decodeReason(answer, "error")};
    else
        result = decodeReport(answer);
    return {answer["sample"].number(UINT64_MAX), std::move(result)};
}

} // namespace

bool isDeviceUuid(std::string_view text) {
    const auto fits = [](char c) {
        return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
               c == '-' || c == '/';
    };
    return !text.empty() && text.size() <= 96 && std::all_of(text.begin(), text.end(), fits);
}

bool isPciAddress(std::string_view text) {
    constexpr std::size_t shortest = std::string_view("0000:65:00.0").size();
    constexpr std::size_t maxLength = std::string_view("00000000:65:00.0").size();
    if (text.size() < shortest || text.size() > maxLength)
        return false;
    // Check the separators, counted from the end.
    const std::string_view tail = text.substr(text.size() - std::string_view(":65:00.0").size());
    const auto isDigit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
    return tail[0] == ':' && tail[3] == ':' && tail[6] == '.' &&
           std::ranges::count_if(text, isDigit) == static_cast<std::ptrdiff_t>(text.size() - 3);
}

std::string encodeRequest(std::uint64_t sample) {
    return json{{"sample", sample}}.dump();
}

std::uint64_t decodeRequest(std::string_view line) {
    return core::readJson<ProtocolError>(line, deepest, decodeSample);
}

std::string encodeAnswer(std::uint64_t sample, const NvmlAnswer& answer) {
    json result{{"sample", sample}};
    if (const auto* none = std::get_if<NvmlNoDriver>(&answer)) {
        result["no_driver"] = none->reason;
    } else if (const auto* failure = std::get_if<NvmlFailure>(&answer)) {
        result["error"] = failure->reason;
    } else {
        const auto& report = std::get<NvmlReport>(answer);
        result["driver"] = orNull(report.driverVersion);
        result["gpus"] = report.gpuCount;
        result["devices"] = json::array();
        for (const NvmlDevice& device : report.devices)
            result["devices"].push_back(encode(device));
        result["failed"] = json::array();
        for (const NvmlFailedGpu& failed : report.failed)
            result["failed"].push_back({{"gpu", failed.gpu}, {"lost", failed.lost}});
        result["uses"] = encode(report.uses);
        result["nodes"] = json::array();
        for (const core::DriverNode& node : report.nodes)
            result["nodes"].push_back(encode(node));
    }
    return result.dump();
}

std::pair<std::uint64_t, NvmlAnswer> decodeAnswer(std::string_view line) {
    return core::readJson<ProtocolError>(line, deepest, decodeNumberedAnswer);
}

} // namespace genv::service
