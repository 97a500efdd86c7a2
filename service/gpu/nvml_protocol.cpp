// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/gpu/nvml_protocol.hpp"

#include "core/json_extent.hpp"
#include "core/text.hpp"
#include "service/gpu/device_nodes.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <unordered_map>
#include <unordered_set>

namespace genv::service {

namespace {

using nlohmann::json;

constexpr std::uint64_t largest = std::numeric_limits<std::int64_t>::max();
constexpr std::uint64_t largest32 = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint64_t largestPid = std::numeric_limits<std::int32_t>::max();
// The maximum depth: a reply, its list, an object in the list, a list in the object, and a node in
// that list.
constexpr std::size_t deepest = 5;

// Reads one object and requires exactly its members.
class Object {
  public:
    Object(const json& value, std::initializer_list<const char*> members) : value_(value) {
        if (!value.is_object() || value.size() != members.size())
            throw ProtocolError("an object has other members than expected");
        for (const char* member : members) {
            if (!value.contains(member))
                throw ProtocolError(fmt::format("\"{}\" is missing", member));
        }
    }

    std::uint64_t number(const char* member, std::uint64_t max) const {
        const json& value = value_.at(member);
        if (!value.is_number_unsigned() || value.get<std::uint64_t>() > max)
            throw ProtocolError(
                fmt::format("invalid \"{}\": expected a number from 0 to {}", member, max));
        return value.get<std::uint64_t>();
    }

    std::uint32_t number32(const char* member) const {
        return static_cast<std::uint32_t>(number(member, largest32));
    }

    std::optional<std::uint64_t> numberOrNull(const char* member, std::uint64_t max) const {
        if (value_.at(member).is_null())
            return std::nullopt;
        return number(member, max);
    }

    std::optional<std::uint32_t> number32OrNull(const char* member,
                                                std::uint64_t max = largest32) const {
        const auto value = numberOrNull(member, max);
        return value ? std::optional(static_cast<std::uint32_t>(*value)) : std::nullopt;
    }

    std::optional<core::Bytes> bytesOrNull(const char* member) const {
        const auto count = numberOrNull(member, largest);
        return count ? std::optional(core::Bytes{*count}) : std::nullopt;
    }

    bool boolean(const char* member) const {
        const json& value = value_.at(member);
        if (!value.is_boolean())
            throw ProtocolError(fmt::format("invalid \"{}\": expected true or false", member));
        return value.get<bool>();
    }

    std::string text(const char* member) const {
        const json& value = value_.at(member);
        if (!value.is_string() || !isShowable(value.get_ref<const std::string&>()))
            throw ProtocolError(fmt::format(
                "invalid \"{}\": expected printable text of 1 to {} bytes", member, maxTextLength));
        return value.get<std::string>();
    }

    /// Returns an empty text for null.
    std::string textOrNull(const char* member) const {
        return value_.at(member).is_null() ? std::string() : text(member);
    }

    std::string pciAddressOrNull(const char* member) const {
        std::string value = textOrNull(member);
        if (!value.empty() && !isPciAddress(value))
            throw ProtocolError(fmt::format("invalid \"{}\": expected a PCI address", member));
        return value;
    }

    core::DeviceUuid uuid(const char* member) const {
        std::string value = text(member);
        if (!isDeviceUuid(value))
            throw ProtocolError(fmt::format("invalid \"{}\": expected a UUID", member));
        return value;
    }

    const json& list(const char* member, std::size_t max) const {
        const json& value = value_.at(member);
        if (!value.is_array() || value.size() > max)
            throw ProtocolError(
                fmt::format("invalid \"{}\": expected a list of at most {} entries", member, max));
        return value;
    }

  private:
    static bool isShowable(std::string_view text) {
        bool good = !text.empty() && text.size() <= maxTextLength;
        while (good && !text.empty()) {
            const auto character = core::takeCharacter(text);
            good = character && core::isPrintable(*character);
        }
        return good;
    }

    const json& value_;
};

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

json parse(std::string_view line) {
    // The parser allocates its own stack, so limiting the depth of the result is sufficient.
    if (core::extentOf(line).depth > deepest)
        throw ProtocolError("too deep");
    try {
        return json::parse(line);
    } catch (const json::exception&) {
        // The exception's text quotes the line, which is untrusted.
        throw ProtocolError("not JSON");
    }
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

json encode(const NvmlDevice& device) {
    return {{"gpu", device.gpu},
            {"mig", orNull(device.mig)},
            {"uuid", device.uuid},
            {"model", device.model},
            {"total", device.totalMemory.count},
            {"used", orNull(device.reading.usedMemory)},
            {"utilization", orNull(device.reading.utilizationPercent)},
            {"temperature", orNull(device.reading.temperatureCelsius)},
            {"power", orNull(device.reading.powerMilliwatts)},
            {"limit", orNull(device.reading.powerLimitMilliwatts)},
            {"xid", orNull(device.xid)},
            {"pci", orNull(device.pciAddress)},
            {"nodes", encode(device.nodes)},
            {"unified", device.hasUnifiedMemory},
            {"free", orNull(device.memory.free)},
            {"unaccounted", orNull(device.memory.unaccounted)}};
}

core::DeviceNode decodeNode(const json& value) {
    const auto number = [&](std::size_t place, std::uint32_t max) {
        if (!value[place].is_number_unsigned() || value[place].get<std::uint64_t>() > max)
            throw ProtocolError("invalid device node: a number is out of range");
        return value[place].get<std::uint32_t>();
    };
    if (!value.is_array() || value.size() != 2)
        throw ProtocolError("invalid device node: expected two numbers");
    return {number(0, maxNodeMajor), number(1, maxNodeMinor)};
}

core::DriverNode decodeDriverNode(const json& value) {
    const Object object(value, {"node", "name", "open", "pci"});
    return {decodeNode(value.at("node")), object.text("name"), object.boolean("open"),
            object.pciAddressOrNull("pci")};
}

NvmlDevice decodeDevice(const json& value) {
    const Object object(value, {"gpu", "mig", "uuid", "model", "total", "used", "utilization",
                                "temperature", "power", "limit", "xid", "pci", "nodes", "unified",
                                "free", "unaccounted"});
    NvmlDevice device;
    device.gpu = object.number32("gpu");
    device.mig = object.number32OrNull("mig");
    device.uuid = object.uuid("uuid");
    device.model = object.text("model");
    device.totalMemory = core::Bytes{object.number("total", largest)};
    device.reading.usedMemory = object.bytesOrNull("used");
    device.reading.utilizationPercent = object.number32OrNull("utilization", 100);
    if (const auto temperature = object.number32OrNull("temperature", 1000))
        device.reading.temperatureCelsius = static_cast<std::int32_t>(*temperature);
    device.reading.powerMilliwatts = object.numberOrNull("power", largest32);
    device.reading.powerLimitMilliwatts = object.number32OrNull("limit");
    device.xid = object.number32OrNull("xid");
    device.pciAddress = object.pciAddressOrNull("pci");
    for (const json& node : object.list("nodes", maxNodes))
        device.nodes.push_back(decodeNode(node));
    device.hasUnifiedMemory = object.boolean("unified");
    device.memory = {object.bytesOrNull("free"), object.bytesOrNull("unaccounted")};
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

NvmlReport decodeReport(const json& answer) {
    const Object object(answer, {"sample", "driver", "gpus", "devices", "failed", "uses", "nodes"});
    NvmlReport report;
    report.driverVersion = object.textOrNull("driver");
    report.gpuCount = static_cast<std::uint32_t>(object.number("gpus", maxDevices));
    std::unordered_set<std::string> uuids;
    Places places(report.gpuCount);
    for (const json& value : object.list("devices", maxDevices)) {
        report.devices.push_back(decodeDevice(value));
        if (!places.take(report.devices.back().gpu, report.devices.back().mig))
            throw ProtocolError("invalid device: unknown GPU, or listed twice");
        if (!uuids.insert(report.devices.back().uuid).second)
            throw ProtocolError("two devices have the same UUID");
    }
    for (const json& value : object.list("failed", maxDevices)) {
        const Object failed(value, {"gpu", "lost"});
        report.failed.push_back({failed.number32("gpu"), failed.boolean("lost")});
        if (!places.take(report.failed.back().gpu, std::nullopt))
            throw ProtocolError("invalid failed GPU: unknown, or listed twice");
    }
    for (const json& value : object.list("uses", maxUses)) {
        const Object use(value, {"pid", "device", "memory", "utilization"});
        report.uses.push_back({static_cast<core::Pid>(use.number("pid", largestPid)),
                               use.uuid("device"), use.bytesOrNull("memory"),
                               use.number32OrNull("utilization", 100)});
        if (report.uses.back().pid == 0 || !uuids.contains(report.uses.back().device))
            throw ProtocolError("invalid use: unknown process or device");
    }
    for (const json& value : object.list("nodes", maxDriverNodes))
        report.nodes.push_back(decodeDriverNode(value));
    return report;
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
    const json request = parse(line);
    return Object(request, {"sample"}).number("sample", largest);
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
        result["uses"] = json::array();
        for (const core::DeviceUse& use : report.uses)
            result["uses"].push_back({{"pid", use.pid},
                                      {"device", use.device},
                                      {"memory", orNull(use.usedMemory)},
                                      {"utilization", orNull(use.utilizationPercent)}});
        result["nodes"] = json::array();
        for (const core::DriverNode& node : report.nodes)
            result["nodes"].push_back(encode(node));
    }
    return result.dump();
}

std::pair<std::uint64_t, NvmlAnswer> decodeAnswer(std::string_view line) {
    const json answer = parse(line);
    NvmlAnswer result;
    if (answer.contains("no_driver"))
        result = NvmlNoDriver{Object(answer, {"sample", "no_driver"}).text("no_driver")};
    else if (answer.contains("error"))
        result = NvmlFailure{Object(answer, {"sample", "error"}).text("error")};
    else
        result = decodeReport(answer);
    const json& sample = answer.at("sample");
    if (!sample.is_number_unsigned())
        throw ProtocolError("invalid \"sample\": expected a number");
    return {sample.get<std::uint64_t>(), std::move(result)};
}

} // namespace genv::service
