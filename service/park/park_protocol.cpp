// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/park/park_protocol.hpp"

#include "core/base/json_reader.hpp"
#include "core/base/text.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdint>
#include <limits>

namespace genv::service {

namespace {

using Json = nlohmann::json;
using core::CheckpointState;
using core::JsonValue;
using core::ParkingCall;
using core::ParkingFault;

template <typename Value>
struct Name {
    Value value;
    std::string_view name;
};

constexpr std::array<Name<ParkingCall>, 5> callNames{{
    {ParkingCall::State, "state"},
    {ParkingCall::Lock, "lock"},
    {ParkingCall::Checkpoint, "checkpoint"},
    {ParkingCall::Restore, "restore"},
    {ParkingCall::Unlock, "unlock"},
}};

constexpr std::array<Name<CheckpointState>, 5> stateNames{{
    {CheckpointState::Running, "running"},
    {CheckpointState::Locked, "locked"},
    {CheckpointState::Checkpointed, "checkpointed"},
    {CheckpointState::Failed, "failed"},
    {CheckpointState::Unknown, "unknown"},
}};

constexpr std::array<Name<ParkingFault>, 14> faultNames{{
    {ParkingFault::OldDriver, "old-driver"},
    {ParkingFault::NoLibrary, "no-library"},
    {ParkingFault::NotInitialized, "not-initialized"},
    {ParkingFault::NotSupported, "not-supported"},
    {ParkingFault::NotReady, "not-ready"},
    {ParkingFault::OutOfMemory, "out-of-memory"},
    {ParkingFault::IllegalState, "illegal-state"},
    {ParkingFault::NotPermitted, "not-permitted"},
    {ParkingFault::Container, "container"},
    {ParkingFault::Owner, "owner"},
    {ParkingFault::Gone, "gone"},
    {ParkingFault::Deadline, "deadline"},
    {ParkingFault::Driver, "driver"},
    {ParkingFault::Helper, "helper"},
}};

constexpr std::string_view capabilityName = "capability";

template <typename Value, std::size_t Size>
std::string nameOf(const std::array<Name<Value>, Size>& names, Value value) {
    const auto found = std::find_if(names.begin(), names.end(),
                                    [&](const auto& each) { return each.value == value; });
    if (found == names.end())
        throw ParkProtocolError("a value without a name");
    return std::string(found->name);
}

template <typename Value, std::size_t Size>
Value valueIn(const JsonValue& word, const std::array<Name<Value>, Size>& names) {
    const std::string name = word.text();
    const auto found = std::find_if(names.begin(), names.end(),
                                    [&](const auto& each) { return each.name == name; });
    if (found == names.end())
        word.refuse("a known name");
    return found->value;
}

core::ParkingTarget targetIn(const JsonValue& object) {
    constexpr core::Uid noUid = std::numeric_limits<core::Uid>::max();
    return {{object["pid"].number32(INT_MAX, 1),
             object["start"].number(std::numeric_limits<std::uint64_t>::max())},
            object["uid"].number32(noUid - 1)};
}

ParkRequest requestIn(const JsonValue& object) {
    if (object["call"].text() == capabilityName) {
        object.requireMembers({"call"});
        return ParkCapabilityRequest{};
    }
    ParkCallRequest request;
    request.call = valueIn(object["call"], callNames);
    if (request.call == ParkingCall::Lock) {
        object.requireMembers({"call", "pid", "start", "uid", "timeout"});
        request.lockTimeout =
            std::chrono::milliseconds(object["timeout"].number32(maxLockTimeout.count(), 1));
    } else {
        object.requireMembers({"call", "pid", "start", "uid"});
    }
    request.target = targetIn(object);
    return request;
}

core::ParkingReply failureIn(const JsonValue& object) {
    core::ParkingReply reply;
    if (object.has("state")) {
        object.requireMembers({"fault", "code", "state"});
        reply.state = valueIn(object["state"], stateNames);
    } else {
        object.requireMembers({"fault", "code"});
    }
    reply.failure = core::ParkingFailure{valueIn(object["fault"], faultNames),
                                         static_cast<int>(object["code"].number(INT_MAX))};
    return reply;
}

core::ParkingCapability capabilityIn(const JsonValue& object) {
    object.requireMembers({"library", "functions", "driver"});
    std::string driver = object["driver"].text(maxParkDriver);
    if (core::printable(driver) != driver)
        object["driver"].refuse("printable text");
    return {object["library"].boolean(), object["functions"].boolean(), std::move(driver)};
}

ParkAnswer answerIn(const JsonValue& object) {
    if (object.has("fault"))
        return failureIn(object);
    if (object.has("library"))
        return capabilityIn(object);
    object.requireMembers({"state"});
    return core::ParkingReply{valueIn(object["state"], stateNames), std::nullopt};
}

Json encoded(const core::ParkingReply& reply) {
    Json object = Json::object();
    if (reply.state)
        object["state"] = nameOf(stateNames, *reply.state);
    if (reply.failure) {
        object["fault"] = nameOf(faultNames, reply.failure->fault);
        object["code"] = reply.failure->code;
    }
    return object;
}

} // namespace

std::chrono::milliseconds parkDeadline(const ParkRequest& request) {
    constexpr std::chrono::seconds question{10};
    constexpr std::chrono::minutes movement{15};
    const auto* call = std::get_if<ParkCallRequest>(&request);
    if (call == nullptr)
        return question;
    switch (call->call) {
    case ParkingCall::Checkpoint:
    case ParkingCall::Restore:
        return movement;
    case ParkingCall::Lock:
        return call->lockTimeout + question;
    case ParkingCall::State:
    case ParkingCall::Unlock:
        break;
    }
    return question;
}

std::string encodeParkRequest(const ParkRequest& request) {
    const auto* call = std::get_if<ParkCallRequest>(&request);
    if (call == nullptr)
        return Json{{"call", capabilityName}}.dump();
    Json object{{"call", nameOf(callNames, call->call)},
                {"pid", call->target.process.pid},
                {"start", call->target.process.startTime},
                {"uid", call->target.uid}};
    if (call->call == ParkingCall::Lock)
        object["timeout"] =
            std::clamp(call->lockTimeout, std::chrono::milliseconds{1}, maxLockTimeout).count();
    return object.dump();
}

std::string encodeParkAnswer(const ParkAnswer& answer) {
    if (const auto* reply = std::get_if<core::ParkingReply>(&answer))
        return encoded(*reply).dump();
    const auto& capability = std::get<core::ParkingCapability>(answer);
    return Json{{"library", capability.library},
                {"functions", capability.functions},
                {"driver", capability.driver}}
        .dump();
}

// All objects are flat, so their depth is 1.
ParkRequest decodeParkRequest(std::string_view line) {
    return core::readJson<ParkProtocolError>(line, 1, requestIn);
}

ParkAnswer decodeParkAnswer(std::string_view line) {
    return core::readJson<ParkProtocolError>(line, 1, answerIn);
}

} // namespace genv::service
