// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/messages/model/message_event.hpp"

#include "client/messages/model/event_json.hpp"
#include "core/base/text.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace genv::messages {

namespace {

constexpr std::size_t maxName = 128;
constexpr std::size_t maxStatus = 256;

bool isSame(const MessageEvent& one, const MessageEvent& other) {
    return one.kind == other.kind && one.environment == other.environment && one.job == other.job &&
           one.name == other.name && one.status == other.status && one.by == other.by;
}

// Cuts between characters.
std::string cut(std::string text, std::size_t max) {
    if (text.size() <= max)
        return text;
    while (max > 0 && (static_cast<unsigned char>(text[max]) & 0xC0U) == 0x80U)
        --max;
    text.resize(max);
    return text + "...";
}

} // namespace

std::string boundedName(std::string_view text) {
    return cut(core::printable(text.substr(0, 4 * maxName)), maxName);
}

nlohmann::json toJson(const MessageEvent& event) {
    nlohmann::json json{{"kind", nameOf(event.kind)},
                        {"time", core::toMicroseconds(event.when)},
                        {"status", event.status}};
    if (!event.environment.empty())
        json["environment"] = event.environment;
    if (event.job)
        json["job"] = *event.job;
    if (!event.name.empty())
        json["name"] = event.name;
    if (!event.gpus.empty())
        json["gpus"] = event.gpus;
    if (event.gpuCount > 0)
        json["gpu_count"] = event.gpuCount;
    if (event.duration.count() > 0)
        json["duration"] = event.duration.count();
    if (!event.by.empty())
        json["by"] = event.by;
    return json;
}

std::optional<MessageEvent> eventOf(const nlohmann::json& json) {
    try {
        const auto kind = kindNamed(json.at("kind").get<std::string>());
        if (!kind)
            return std::nullopt;
        MessageEvent event{
            .kind = *kind,
            .when = core::fromMicroseconds(json.at("time").get<std::uint64_t>()),
            .environment = boundedName(json.value("environment", "")),
            .name = boundedName(json.value("name", "")),
            .gpus = json.value("gpus", std::vector<core::DeviceIndex>()),
            .gpuCount = json.value("gpu_count", std::uint32_t{0}),
            .duration = std::chrono::seconds(json.value("duration", std::int64_t{0})),
            .status = cut(core::printable(json.at("status").get<std::string>()), maxStatus),
            .by = boundedName(json.value("by", ""))};
        if (json.contains("job"))
            event.job = json.at("job").get<std::uint32_t>();
        return event;
    } catch (const nlohmann::json::exception&) {
        return std::nullopt;
    }
}

std::string encode(const MessageEvent& event) {
    return toJson(event).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::optional<MessageEvent> decodeEvent(std::string_view text) {
    const auto json = nlohmann::json::parse(text, nullptr, false);
    return json.is_object() ? eventOf(json) : std::nullopt;
}

std::vector<MessageEvent> merged(const std::vector<MessageEvent>& events) {
    std::vector<MessageEvent> result;
    for (const MessageEvent& event : events) {
        const auto known =
            std::find_if(result.begin(), result.end(),
                         [&](const MessageEvent& each) { return isSame(each, event); });
        if (known == result.end()) {
            result.push_back(event);
            continue;
        }
        known->gpus.insert(known->gpus.end(), event.gpus.begin(), event.gpus.end());
        std::sort(known->gpus.begin(), known->gpus.end());
        known->gpus.erase(std::unique(known->gpus.begin(), known->gpus.end()), known->gpus.end());
    }
    return result;
}

} // namespace genv::messages
