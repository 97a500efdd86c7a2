// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/messages/files/batch.hpp"

#include "client/messages/files/durable_file.hpp"
#include "client/messages/model/event_json.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace genv::messages {

namespace {

constexpr std::size_t maxBatch = std::size_t{1} << 20U;
constexpr std::size_t maxInstance = 64;

} // namespace

bool isInstance(const std::string& instance) {
    return !instance.empty() && instance.size() <= maxInstance &&
           std::all_of(instance.begin(), instance.end(), [](char c) {
               return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '-';
           });
}

std::filesystem::path batchFile(const std::filesystem::path& folder, const std::string& instance) {
    return folder / (instance + ".batch");
}

std::filesystem::path reasonFile(const std::filesystem::path& folder, const std::string& instance) {
    return folder / (instance + ".reason");
}

void writeBatch(const std::filesystem::path& file, const Batch& batch) {
    auto events = nlohmann::json::array();
    for (const MessageEvent& event : batch.events)
        events.push_back(toJson(event));
    const nlohmann::json json{{"last", batch.last},
                              {"attempts", batch.attempts},
                              {"next", core::toMicroseconds(batch.next)},
                              {"missing", batch.missing},
                              {"events", std::move(events)}};
    writeDurably(file, json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

std::optional<Batch> readBatch(const std::filesystem::path& file) {
    const auto text = readSmall(file, maxBatch);
    const auto json = nlohmann::json::parse(text.value_or(""), nullptr, false);
    if (!json.is_object())
        return std::nullopt;
    try {
        Batch batch{.last = json.at("last").get<std::uint64_t>(),
                    .attempts = json.at("attempts").get<std::size_t>(),
                    .next = core::fromMicroseconds(json.at("next").get<std::uint64_t>()),
                    .missing = json.at("missing").get<std::size_t>(),
                    .events = {}};
        for (const auto& each : json.at("events"))
            if (auto event = eventOf(each))
                batch.events.push_back(*std::move(event));
        return batch.events.empty() ? std::nullopt : std::optional(std::move(batch));
    } catch (const nlohmann::json::exception&) {
        return std::nullopt;
    }
}

} // namespace genv::messages
