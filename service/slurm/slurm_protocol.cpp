// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/slurm/slurm_protocol.hpp"

#include "core/json_extent.hpp"
#include "core/text.hpp"
#include "service/gpu/device_nodes.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <initializer_list>
#include <limits>

namespace genv::service {

namespace {

using Json = nlohmann::json;

constexpr std::uint64_t maxJob = std::numeric_limits<core::SlurmJobId>::max();
// The end of the year 9999. scontrol accepts no later time.
constexpr std::uint64_t maxEnd = 253'402'300'799;
// The maximum depth: an answer, its list, a device in it, and its node.
constexpr std::size_t maxDepth = 4;

Json parseLine(std::string_view line) {
    // The parser allocates its own stack, so limiting the depth of the result is sufficient.
    if (core::extentOf(line).depth > maxDepth)
        throw SlurmProtocolError("too deep");
    try {
        return Json::parse(line);
    } catch (const Json::exception&) {
        // The exception's text quotes the line, which is untrusted.
        throw SlurmProtocolError("not JSON");
    }
}

void requireMembers(const Json& value, std::initializer_list<const char*> members) {
    if (!value.is_object() || value.size() != members.size())
        throw SlurmProtocolError("an object has other members than expected");
    for (const char* member : members) {
        if (!value.contains(member))
            throw SlurmProtocolError(fmt::format("\"{}\" is missing", member));
    }
}

std::uint64_t numberIn(const Json& value, std::uint64_t min, std::uint64_t max, const char* what) {
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() < min ||
        value.get<std::uint64_t>() > max)
        throw SlurmProtocolError(fmt::format("invalid {}: expected {}-{}", what, min, max));
    return value.get<std::uint64_t>();
}

core::SlurmJobId jobIn(const Json& request) {
    return static_cast<core::SlurmJobId>(numberIn(request.at("job"), 1, maxJob, "job"));
}

core::SlurmDevice deviceIn(const Json& value) {
    requireMembers(value, {"number", "node"});
    const Json& node = value.at("node");
    if (!node.is_array() || node.size() != 2)
        throw SlurmProtocolError("invalid device node: expected two numbers");
    return {
        static_cast<std::uint32_t>(numberIn(value.at("number"), 0, maxSlurmDevices - 1, "number")),
        {static_cast<std::uint32_t>(numberIn(node[0], 0, maxNodeMajor, "major number")),
         static_cast<std::uint32_t>(numberIn(node[1], 0, maxNodeMinor, "minor number"))}};
}

std::vector<core::SlurmDevice> devicesIn(const Json& list) {
    if (!list.is_array() || list.size() > maxSlurmDevices)
        throw SlurmProtocolError(fmt::format("not a list of at most {} devices", maxSlurmDevices));
    std::vector<core::SlurmDevice> devices;
    for (const Json& value : list) {
        devices.push_back(deviceIn(value));
        if (devices.back().number + 1 != devices.size())
            throw SlurmProtocolError("invalid numbers of devices: expected 0, 1 and so on");
    }
    return devices;
}

core::SlurmFailure failureIn(const Json& value) {
    if (!value.is_string())
        throw SlurmProtocolError("invalid reason: expected text");
    std::string reason = value.get<std::string>();
    if (reason.empty() || reason.size() > maxSlurmReason || core::printable(reason) != reason)
        throw SlurmProtocolError("invalid reason: empty, too long or not printable");
    return {std::move(reason)};
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
    const Json request = parseLine(line);
    const std::string name = request.is_object() ? request.value("request", Json()).dump() : "";
    if (name == R"("list-devices")") {
        requireMembers(request, {"request"});
        return SlurmListDevices{};
    }
    if (name == R"("set-end")") {
        requireMembers(request, {"request", "job", "end"});
        const std::chrono::seconds end(
            static_cast<std::int64_t>(numberIn(request.at("end"), 1, maxEnd, "end")));
        return SlurmSetEnd{jobIn(request), core::WallTime(end)};
    }
    if (name == R"("cancel")") {
        requireMembers(request, {"request", "job"});
        return SlurmCancel{jobIn(request)};
    }
    if (name == R"("requeue")") {
        requireMembers(request, {"request", "job"});
        return SlurmRequeue{jobIn(request)};
    }
    if (name == R"("find-job")") {
        requireMembers(request, {"request", "sluid"});
        return SlurmFindJob{{numberIn(request.at("sluid"), 1, UINT64_MAX, "sluid")}};
    }
    throw SlurmProtocolError("unknown request");
}

SlurmAnswer decodeSlurmAnswer(std::string_view line) {
    const Json answer = parseLine(line);
    if (answer.is_object() && answer.contains("devices")) {
        requireMembers(answer, {"devices"});
        return devicesIn(answer.at("devices"));
    }
    if (answer.is_object() && answer.contains("error")) {
        requireMembers(answer, {"error"});
        return failureIn(answer.at("error"));
    }
    if (answer.is_object() && answer.contains("job")) {
        requireMembers(answer, {"job"});
        return SlurmFound{jobIn(answer)};
    }
    requireMembers(answer, {"done"});
    if (answer.at("done") != Json(true))
        throw SlurmProtocolError("invalid \"done\": expected true");
    return SlurmDone{};
}

} // namespace genv::service
