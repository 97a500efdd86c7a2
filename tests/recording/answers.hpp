// SPDX-License-Identifier: LGPL-2.1-or-later
// How the answers of NVML's functions are written in a recording and given again. The recorder and
// the library that replays share this file, so a recording means the same to both.
//
// An answer is {"result": the returned value, "value": what the driver wrote}; there is a value
// only after a success. A function that answers for several parameters has {"of": {PARAMETER:
// ANSWER}}. A number with all bits set, by which NVML says "unknown" or "none", is null.
#pragma once

#include "core/model/nvml_abi.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace genv::recording {

using nlohmann::json;
namespace nvml = genv::nvml;
using nvml::Device;
using nvml::Return;

/// Something in a recording is not as the recorder writes it.
class Invalid : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// The most entries that a list has in a recording.
inline constexpr unsigned maxEntries = 4096;

/// nvmlAccountingStats_t
struct AccountingStats {
    unsigned gpuUtilization;
    unsigned memoryUtilization;
    unsigned long long maxMemoryUsage;
    unsigned long long time;
    unsigned long long startTime;
    unsigned isRunning;
    unsigned reserved[5];
};
static_assert(sizeof(AccountingStats) == 56);

inline const json& memberOf(const json& object, const char* name) {
    if (!object.is_object() || !object.contains(name))
        throw Invalid(std::string("expected an object with \"") + name + '"');
    return object[name];
}

template <std::unsigned_integral T>
json encode(T value) {
    return value == std::numeric_limits<T>::max() ? json() : json(value);
}

template <std::unsigned_integral T>
void decode(const json& value, T& out) {
    if (!value.is_null() &&
        (!value.is_number_unsigned() || value.get<std::uint64_t>() > std::numeric_limits<T>::max()))
        throw Invalid("expected a number of " + std::to_string(8 * sizeof(T)) + " bits");
    out = value.is_null() ? std::numeric_limits<T>::max() : value.get<T>();
}

inline json encode(int value) {
    return value;
}

inline void decode(const json& value, int& out) {
    if (!value.is_number_integer() || value.get<std::int64_t>() != static_cast<int>(value))
        throw Invalid("expected an integer of 32 bits");
    out = value.get<int>();
}

template <std::size_t N>
json encode(const char (&text)[N]) {
    return std::string(text, std::find(text, text + N, '\0'));
}

template <std::size_t N>
void decode(const json& value, char (&out)[N]) {
    if (!value.is_string() || value.get_ref<const std::string&>().size() >= N)
        throw Invalid("expected a text of less than " + std::to_string(N) + " bytes");
    const auto& text = value.get_ref<const std::string&>();
    std::memcpy(out, text.c_str(), text.size() + 1);
}

// The members of NVML's structs, with their names in a recording.
template <typename T, typename Plain>
concept Is = std::same_as<std::remove_const_t<T>, Plain>;

template <Is<nvml::Utilization> T>
void visit(T& value, auto member) {
    member("gpu", value.gpu);
    member("memory", value.memory);
}

template <Is<nvml::PciInfo> T>
void visit(T& value, auto member) {
    member("bus_id_legacy", value.busIdLegacy);
    member("domain", value.domain);
    member("bus", value.bus);
    member("device", value.device);
    member("device_id", value.pciDeviceId);
    member("subsystem_id", value.pciSubSystemId);
    member("bus_id", value.busId);
}

template <Is<nvml::MemoryV1> T>
void visit(T& value, auto member) {
    member("total", value.total);
    member("free", value.free);
    member("used", value.used);
}

template <Is<nvml::MemoryV2> T>
void visit(T& value, auto member) {
    member("total", value.total);
    member("reserved", value.reserved);
    member("free", value.free);
    member("used", value.used);
}

template <Is<nvml::ProcessDetailV1> T>
void visit(T& value, auto member) {
    member("pid", value.pid);
    member("memory", value.usedGpuMemory);
    member("gi", value.gpuInstanceId);
    member("ci", value.computeInstanceId);
    member("protected", value.usedGpuCcProtectedMemory);
}

template <Is<nvml::ProcessUtilizationSample> T>
void visit(T& value, auto member) {
    member("pid", value.pid);
    member("time", value.timeStamp);
    member("sm", value.smUtil);
    member("memory", value.memUtil);
    member("encoder", value.encUtil);
    member("decoder", value.decUtil);
}

template <Is<nvml::ProcessUtilizationInfo> T>
void visit(T& value, auto member) {
    member("time", value.timeStamp);
    member("pid", value.pid);
    member("sm", value.smUtil);
    member("memory", value.memUtil);
    member("encoder", value.encUtil);
    member("decoder", value.decUtil);
    member("jpeg", value.jpgUtil);
    member("ofa", value.ofaUtil);
}

template <Is<AccountingStats> T>
void visit(T& value, auto member) {
    member("gpu", value.gpuUtilization);
    member("memory", value.memoryUtilization);
    member("max_memory", value.maxMemoryUsage);
    member("time", value.time);
    member("start", value.startTime);
    member("running", value.isRunning);
}

template <Is<nvml::EncoderSession> T>
void visit(T& value, auto member) {
    member("session", value.sessionId);
    member("pid", value.pid);
    member("vgpu", value.vgpuInstance);
    member("codec", value.codecType);
    member("width", value.hResolution);
    member("height", value.vResolution);
    member("fps", value.averageFps);
    member("latency", value.averageLatency);
}

template <Is<nvml::FbcSession> T>
void visit(T& value, auto member) {
    member("session", value.sessionId);
    member("pid", value.pid);
    member("vgpu", value.vgpuInstance);
    member("display", value.displayOrdinal);
    member("type", value.sessionType);
    member("flags", value.sessionFlags);
    member("max_width", value.hMaxResolution);
    member("max_height", value.vMaxResolution);
    member("width", value.hResolution);
    member("height", value.vResolution);
    member("fps", value.averageFps);
    member("latency", value.averageLatency);
}

template <typename T>
concept Struct = std::is_class_v<T> && !std::same_as<T, json>;

template <Struct T>
json encode(const T& value) {
    json object = json::object();
    visit(value, [&](const char* name, const auto& part) { object[name] = encode(part); });
    return object;
}

template <Struct T>
void decode(const json& object, T& out) {
    visit(out, [&](const char* name, auto& part) { decode(memberOf(object, name), part); });
}

/// Encodes the first `count` entries, which a driver wrote.
template <typename T>
json encodeList(const std::vector<T>& entries, std::size_t count) {
    json list = json::array();
    for (std::size_t i = 0; i < std::min(count, entries.size()); ++i)
        list.push_back(encode(entries[i]));
    return list;
}

template <typename T>
std::vector<T> decodeList(const json& value) {
    if (!value.is_array() || value.size() > maxEntries)
        throw Invalid("expected a list of at most " + std::to_string(maxEntries) + " entries");
    std::vector<T> list(value.size());
    for (std::size_t i = 0; i < list.size(); ++i)
        decode(value[i], list[i]);
    return list;
}

inline json answerOf(Return result) {
    return {{"result", static_cast<int>(result)}};
}

inline json answerOf(Return result, json value) {
    json answer = answerOf(result);
    if (result == Return::Success)
        answer["value"] = std::move(value);
    return answer;
}

inline Return resultOf(const json& answer) {
    int result = 0;
    decode(memberOf(answer, "result"), result);
    return static_cast<Return>(result);
}

/// Hands over a list as NVML does: a caller with too little room learns how much is needed.
template <typename Entry>
Return handOver(const std::vector<Entry>& list, unsigned* count, Entry* out) {
    const unsigned room = out == nullptr ? 0 : *count;
    *count = static_cast<unsigned>(list.size());
    if (list.size() > room)
        return Return::InsufficientSize;
    for (std::size_t i = 0; i < list.size(); ++i)
        out[i] = list[i];
    return Return::Success;
}

} // namespace genv::recording
