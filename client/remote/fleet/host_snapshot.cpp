// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/remote/fleet/host_snapshot.hpp"

#include "core/base/error.hpp"
#include "core/base/json_extent.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>
#include <limits>
#include <set>

namespace genv::remote {

namespace {

// This type looks up keys in logarithmic time, even if a host sends very many of them.
using FarJson = nlohmann::json;

// A snapshot has seven levels, and no machine has more than a few million values.
constexpr std::size_t deepestSnapshot = 12;
constexpr std::size_t maxValues = 2'000'000;

constexpr std::uint32_t largestIndex = 65'535;
constexpr core::Pid largestPid = 4'194'304;      // PID_MAX_LIMIT
constexpr core::Bytes largestAmount{1ULL << 44}; // sums of it do not overflow
constexpr core::Uid noUid = std::numeric_limits<core::Uid>::max();

[[noreturn]] void refuseSnapshot(std::string_view what) {
    throw InvalidSnapshot(fmt::format("invalid snapshot: {}", what));
}

FarJson parseBounded(std::string_view text) {
    const core::JsonExtent extent = core::extentOf(text);
    if (extent.depth > deepestSnapshot)
        refuseSnapshot("nested too deeply");
    if (extent.values > maxValues)
        refuseSnapshot("too long");
    try {
        return FarJson::parse(text);
    } catch (const FarJson::exception&) {
        refuseSnapshot("not JSON"); // the parser's message would quote the text
    }
}

const FarJson& member(const FarJson& object, const char* key) {
    if (!object.is_object())
        refuseSnapshot(fmt::format("expected an object with \"{}\"", key));
    const auto found = object.find(key);
    if (found == object.end())
        refuseSnapshot(fmt::format("an object without \"{}\"", key));
    return *found;
}

const FarJson& arrayIn(const FarJson& object, const char* key) {
    const FarJson& value = member(object, key);
    if (!value.is_array())
        refuseSnapshot(fmt::format("invalid \"{}\": expected a list", key));
    return value;
}

// Returns the list in a collection's object, such as {"envs": {"envs": [...]}}.
const FarJson& collection(const FarJson& document, const char* key) {
    return arrayIn(member(document, key), key);
}

std::uint32_t asNumber(const FarJson& value, const char* key, std::uint32_t least,
                       std::uint32_t largest) {
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() < least ||
        value.get<std::uint64_t>() > largest)
        refuseSnapshot(fmt::format("invalid \"{}\": expected {}-{}", key, least, largest));
    return value.get<std::uint32_t>();
}

std::uint32_t numberIn(const FarJson& object, const char* key, std::uint32_t least,
                       std::uint32_t largest) {
    return asNumber(member(object, key), key, least, largest);
}

std::string asText(const FarJson& value, const char* key) {
    if (!value.is_string())
        refuseSnapshot(fmt::format("invalid \"{}\": expected text", key));
    auto text = value.get<std::string>();
    if (text.empty() || text.size() > maxForeignTextLength)
        refuseSnapshot(fmt::format("\"{}\" is empty or too long", key));
    return text;
}

std::string textIn(const FarJson& object, const char* key) {
    return asText(member(object, key), key);
}

std::optional<std::string> optionalTextIn(const FarJson& object, const char* key) {
    const FarJson& value = member(object, key);
    const bool isUnset = value.is_null() || (value.is_string() && value.size() == 1 &&
                                             value.get_ref<const std::string&>().empty());
    return isUnset ? std::nullopt : std::optional(asText(value, key));
}

// "0mi" is reported for a process that uses less. No user requests this amount.
core::Bytes asAmount(const std::string& text, const char* key) {
    const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    const bool isZero = digits > 0 && text.find_first_not_of('0') >= digits;
    try {
        const core::Bytes amount =
            core::parseBytes(isZero ? fmt::format("1{}", text.substr(digits)) : text);
        if (amount > largestAmount)
            refuseSnapshot(fmt::format("\"{}\" is more memory than a GPU has", key));
        return isZero ? core::Bytes{0} : amount;
    } catch (const core::Error&) {
        refuseSnapshot(fmt::format("invalid \"{}\": expected an amount of memory", key));
    }
}

std::optional<core::Bytes> optionalAmountIn(const FarJson& object, const char* key) {
    const auto text = optionalTextIn(object, key);
    return text ? std::optional(asAmount(*text, key)) : std::nullopt;
}

// Parses "%d/%m/%Y %H:%M:%S" in this machine's time zone.
core::WallTime asMoment(const std::string& text, const char* key) {
    constexpr std::string_view pattern = "dd/dd/dddd dd:dd:dd";
    const auto fits = [](char wanted, char is) {
        return wanted == 'd' ? is >= '0' && is <= '9' : is == wanted;
    };
    if (text.size() != pattern.size() ||
        !std::equal(pattern.begin(), pattern.end(), text.begin(), fits))
        refuseSnapshot(fmt::format("invalid \"{}\": expected a time", key));
    const auto number = [&](std::size_t at, std::size_t length) {
        int value = 0;
        std::from_chars(text.data() + at, text.data() + at + length, value);
        return value;
    };
    std::tm wanted{};
    wanted.tm_mday = number(0, 2);
    wanted.tm_mon = number(3, 2) - 1;
    wanted.tm_year = number(6, 4) - 1900;
    wanted.tm_hour = number(11, 2);
    wanted.tm_min = number(14, 2);
    wanted.tm_sec = number(17, 2);
    wanted.tm_isdst = -1;
    std::tm is = wanted;
    const std::time_t seconds = std::mktime(&is);
    if (seconds < 0 || is.tm_mday != wanted.tm_mday || is.tm_mon != wanted.tm_mon)
        refuseSnapshot(fmt::format("invalid \"{}\": expected a time", key));
    return core::WallTime{std::chrono::seconds{seconds}};
}

template <typename Value, typename Key>
void requireDistinct(const std::vector<Value>& values, const char* what, Key key) {
    std::set<std::remove_cvref_t<decltype(key(values.front()))>> seen;
    for (const Value& value : values) {
        if (!seen.insert(key(value)).second)
            refuseSnapshot(fmt::format("{} is listed twice", what));
    }
}

Snapshot::Process parseProcess(const FarJson& value) {
    Snapshot::Process process;
    process.pid = numberIn(value, "pid", 1, largestPid);
    process.environment = optionalTextIn(value, "eid");
    for (const FarJson& use : arrayIn(value, "used_gpu_memory"))
        process.uses.push_back(
            {numberIn(use, "index", 0, largestIndex), optionalAmountIn(use, "gpu_memory")});
    requireDistinct(process.uses, "a device of a process",
                    [](const Snapshot::Use& use) { return use.device; });
    return process;
}

Snapshot::Environment parseEnvironment(const FarJson& value) {
    Snapshot::Environment environment;
    environment.id = textIn(value, "eid");
    environment.uid = numberIn(value, "uid", 0, noUid - 1);
    environment.user = optionalTextIn(value, "username").value_or(std::to_string(environment.uid));
    environment.createdText = textIn(value, "creation");
    environment.created = asMoment(environment.createdText, "creation");
    const FarJson& configuration = member(value, "config");
    environment.name = optionalTextIn(configuration, "name");
    environment.gpuMemory = optionalAmountIn(configuration, "gpu_memory");
    const FarJson& gpus = member(configuration, "gpus");
    if (!gpus.is_null())
        environment.gpus = asNumber(gpus, "gpus", 0, std::numeric_limits<std::uint32_t>::max());
    for (const FarJson& pid : arrayIn(value, "pids"))
        environment.processes.push_back(asNumber(pid, "pids", 1, largestPid));
    for (const FarJson& kernel : arrayIn(value, "kernel_ids"))
        environment.kernels.push_back(asText(kernel, "kernel_ids"));
    return environment;
}

Snapshot::Device parseDevice(const FarJson& value) {
    Snapshot::Device device;
    device.index = numberIn(value, "index", 0, largestIndex);
    if (!member(value, "total_memory").is_null()) // null: not known
        device.totalMemory = asAmount(textIn(value, "total_memory"), "total_memory");
    for (const FarJson& attachment : arrayIn(value, "attachments"))
        device.attachments.push_back({textIn(attachment, "eid"),
                                      optionalAmountIn(attachment, "gpu_memory"),
                                      asMoment(textIn(attachment, "time"), "time")});
    requireDistinct(device.attachments, "an environment of a device",
                    [](const Snapshot::Attachment& attachment) { return attachment.environment; });
    return device;
}

template <typename Value>
Json valueOrNull(const std::optional<Value>& value) {
    return value ? Json(*value) : Json(nullptr);
}

Json amountOrNull(const std::optional<core::Bytes>& amount) {
    return amount ? Json(core::formatBytes(*amount)) : Json(nullptr);
}

} // namespace

Snapshot parseSnapshot(std::string_view text) {
    const FarJson document = parseBounded(text);
    Snapshot snapshot;
    for (const FarJson& process : collection(document, "processes"))
        snapshot.processes.push_back(parseProcess(process));
    for (const FarJson& environment : collection(document, "envs"))
        snapshot.environments.push_back(parseEnvironment(environment));
    for (const FarJson& device : collection(document, "devices"))
        snapshot.devices.push_back(parseDevice(device));
    requireDistinct(snapshot.processes, "a process",
                    [](const Snapshot::Process& process) { return process.pid; });
    requireDistinct(snapshot.environments, "an environment",
                    [](const Snapshot::Environment& environment) { return environment.id; });
    requireDistinct(snapshot.devices, "a device",
                    [](const Snapshot::Device& device) { return device.index; });
    return snapshot;
}

Json environmentJson(const Snapshot::Environment& environment) {
    return {{"eid", environment.id},
            {"uid", environment.uid},
            {"creation", environment.createdText},
            {"username", environment.user},
            {"config",
             {{"name", valueOrNull(environment.name)},
              {"gpu_memory", amountOrNull(environment.gpuMemory)},
              {"gpus", valueOrNull(environment.gpus)}}},
            {"pids", environment.processes},
            {"kernel_ids", environment.kernels}};
}

Json processJson(const Snapshot::Process& process) {
    Json uses = Json::array();
    for (const Snapshot::Use& use : process.uses)
        uses.push_back({{"index", use.device},
                        {"gpu_memory",
                         use.memory ? Json(core::formatMebibytes(*use.memory)) : Json(nullptr)}});
    return {{"pid", process.pid},
            {"used_gpu_memory", std::move(uses)},
            {"eid", valueOrNull(process.environment)}};
}

std::string writeJson(const Json& json) {
    return json.dump(-1, ' ', true, Json::error_handler_t::replace);
}

} // namespace genv::remote
