// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/slurm/slurm_protocol.hpp"

#include "core/base/json_reader.hpp"
#include "core/base/text.hpp"
#include "service/gpu/device_nodes.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <limits>

namespace genv::service {

namespace {

using core::JsonValue;
using Json = nlohmann::json;

constexpr std::uint32_t maxJob = std::numeric_limits<core::SlurmJobId>::max();
// The end of the year 9999. scontrol accepts no later time.
constexpr std::uint64_t maxEnd = 253'402'300'799;
// The maximum depth: an answer, its list, a device in it, and its node.
constexpr std::size_t maxDepth = 4;

core::SlurmJobId jobIn(const JsonValue& object) {
    return object["job"].number32(maxJob, 1);
}

core::SlurmDevice deviceIn(const JsonValue& value) {
    value.requireMembers({"number", "node"});
    const auto node = value["node"].listOf(2);
    return {value["number"].number32(maxSlurmDevices - 1),
            {node[0].number32(maxNodeMajor), node[1].number32(maxNodeMinor)}};
}

std::vector<core::SlurmDevice> devicesIn(const JsonValue& list) {
    std::vector<core::SlurmDevice> devices;
    for (const JsonValue& value : list.list(maxSlurmDevices)) {
        devices.push_back(deviceIn(value));
        if (devices.back().number + 1 != devices.size())
            throw SlurmProtocolError("invalid numbers of devices: expected 0, 1 and so on");
    }
    return devices;
}

core::SlurmFailure failureIn(const JsonValue& value) {
    std::string reason = value.text(maxSlurmReason);
    if (reason.empty() || core::printable(reason) != reason)
        value.refuse(fmt::format("printable text of 1 to {} bytes", maxSlurmReason));
    return {std::move(reason)};
}

SlurmRequest requestIn(const JsonValue& request) {
    const std::string name = request["request"].text();
    if (name == "list-devices") {
        request.requireMembers({"request"});
        return SlurmListDevices{};
    }
    if (name == "set-end") {
        request.requireMembers({"request", "job", "end"});
        const std::chrono::seconds end(static_cast<std::int64_t>(request["end"].number(maxEnd, 1)));
        return SlurmSetEnd{jobIn(request), core::WallTime(end)};
    }
    if (name == "cancel") {
        request.requireMembers({"request", "job"});
        return SlurmCancel{jobIn(request)};
    }
    if (name == "requeue") {
        request.requireMembers({"request", "job"});
        return SlurmRequeue{jobIn(request)};
    }
    if (name == "find-job") {
        request.requireMembers({"request", "sluid"});
        return SlurmFindJob{{request["sluid"].number(UINT64_MAX, 1)}};
    }
    throw SlurmProtocolError("unknown request");
}

SlurmAnswer answerIn(const JsonValue& answer) {
    if (answer.has("devices")) {
        answer.requireMembers({"devices"});
        return devicesIn(answer["devices"]);
    }
    if (answer.has("error")) {
        answer.requireMembers({"error"});
        return failureIn(answer["error"]);
    }
    if (answer.has("job")) {
        answer.requireMembers({"job"});
        return SlurmFound{jobIn(answer)};
    }
    answer.requireMembers({"done"});
    if (!answer["done"].boolean())
        answer["done"].refuse("true");
    return SlurmDone{};
}

Json encoded(const SlurmListDevices& /*request*/) {
    return {{"request", "list-devices"}};
}
Json encoded(const SlurmSetEnd& request) {
    const auto end =
        std::chrono::duration_cast<std::chrono::seconds>(request.end.time_since_epoch());
    return {{"request", "set-end"}, {"job", request.job}, {"end", end.count()}};
}
Json encoded(const SlurmCancel& request) {
    return {{"request", "cancel"}, {"job", request.job}};
}
Json encoded(const SlurmRequeue& request) {
    return {{"request", "requeue"}, {"job", request.job}};
}
Json encoded(const SlurmFindJob& request) {
    return {{"request", "find-job"}, {"sluid", request.sluid.value}};
}

} // namespace

std::string encodeSlurmRequest(const SlurmRequest& request) {
    return std::visit([](const auto& each) { return encoded(each).dump(); }, request);
}

std::string encodeSlurmAnswer(const SlurmAnswer& answer) {
    if (const auto* failure = std::get_if<core::SlurmFailure>(&answer))
        return Json{{"error", failure->reason}}.dump();
    if (std::holds_alternative<SlurmDone>(answer))
        return Json{{"done", true}}.dump();
    if (const auto* found = std::get_if<SlurmFound>(&answer))
        return Json{{"job", found->job}}.dump();
    Json list = Json::array();
    for (const core::SlurmDevice& device : std::get<std::vector<core::SlurmDevice>>(answer))
        list.push_back({{"number", device.number},
                        {"node", Json::array({device.node.major, device.node.minor})}});
    return Json{{"devices", std::move(list)}}.dump();
}

SlurmRequest decodeSlurmRequest(std::string_view line) {
    return core::readJson<SlurmProtocolError>(line, maxDepth, requestIn);
}

SlurmAnswer decodeSlurmAnswer(std::string_view line) {
    return core::readJson<SlurmProtocolError>(line, maxDepth, answerIn);
}

} // namespace genv::service
