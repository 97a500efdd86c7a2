// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/park/park_socket.hpp"

#include <algorithm>
#include <optional>
#include <system_error>
#include <utility>

namespace genv::service {

namespace {

using core::ParkingFault;

ParkAnswer parkFailure(ParkingFault fault) {
    core::ParkingReply reply;
    reply.failure = core::ParkingFailure{fault};
    return reply;
}

ParkAnswer parkAnswerOf(LineExchange::End end, const std::string& line) {
    if (end == LineExchange::End::Late)
        return parkFailure(ParkingFault::Deadline);
    if (end != LineExchange::End::Answered)
        return parkFailure(ParkingFault::Helper);
    try {
        return decodeParkAnswer(line);
    } catch (const ParkProtocolError&) {
        return parkFailure(ParkingFault::Helper);
    }
}

std::optional<core::Uid> parkUserOf(const ParkRequest& request) {
    const auto* call = std::get_if<ParkCallRequest>(&request);
    return call != nullptr ? std::optional(call->target.uid) : std::nullopt;
}

} // namespace

ParkSocket::ParkSocket(ParkSocketSettings settings, core::Scheduler& scheduler)
    : settings_(std::move(settings)), scheduler_(scheduler) {}

ParkSocket::~ParkSocket() {
    *alive_ = false;
}

void ParkSocket::call(core::ParkingCall call, const core::ParkingTarget& target,
                      std::chrono::milliseconds lockTimeout,
                      std::function<void(const core::ParkingReply&)> answer) {
    const auto timeout = std::clamp(lockTimeout, std::chrono::milliseconds{1}, maxLockTimeout);
    ask(ParkCallRequest{call, target, timeout}, [answer =
                                                     std::move(answer)](const ParkAnswer& given) {
        const auto* reply = std::get_if<core::ParkingReply>(&given);
        answer(reply != nullptr ? *reply
                                : std::get<core::ParkingReply>(parkFailure(ParkingFault::Helper)));
    });
}

void ParkSocket::capability(std::function<void(const core::ParkingCapability&)> answer) {
    ask(ParkCapabilityRequest{}, [answer = std::move(answer)](const ParkAnswer& given) {
        const auto* capability = std::get_if<core::ParkingCapability>(&given);
        answer(capability != nullptr ? *capability
                                     : core::ParkingCapability{false, false, {}, false});
    });
}

void ParkSocket::ask(const ParkRequest& request, Answer answer) {
    if (waiting_.size() >= settings_.maxWaiting) {
        answerLater(std::move(answer));
        return;
    }
    waiting_.push_back({request, std::move(answer)});
    beginNext();
}

bool ParkSocket::mayBegin(const Waiting& waiting) const {
    const auto user = parkUserOf(waiting.request);
    if (!user)
        return true;
    const auto busy = ofUser_.find(*user);
    return busy == ofUser_.end() || busy->second < settings_.maxPerUser;
}

void ParkSocket::beginNext() {
    while (exchanges_.size() < settings_.maxConnections) {
        const auto next =
            std::find_if(waiting_.begin(), waiting_.end(),
                         [this](const Waiting& waiting) { return mayBegin(waiting); });
        if (next == waiting_.end())
            return;
        Waiting taken = std::move(*next);
        waiting_.erase(next);
        begin(std::move(taken));
    }
}

void ParkSocket::begin(Waiting next) {
    const auto user = parkUserOf(next.request);
    const auto place = exchanges_.emplace(exchanges_.end());
    const auto release = [this, user, place] {
        exchanges_.erase(place);
        if (user && --ofUser_[*user] == 0)
            ofUser_.erase(*user);
    };
    if (user)
        ++ofUser_[*user];
    auto finished = [this, release, answer = next.answer](LineExchange::End end,
                                                          const std::string& line) {
        release();
        const std::shared_ptr<bool> alive = alive_;
        answer(parkAnswerOf(end, line));
        if (*alive)
            beginNext();
    };
    try {
        *place = std::make_unique<LineExchange>(settings_.socket, encodeParkRequest(next.request),
                                                parkDeadline(next.request) + settings_.margin,
                                                maxParkAnswer, scheduler_, std::move(finished));
    } catch (const std::system_error&) {
        release();
        answerLater(std::move(next.answer));
    }
}

void ParkSocket::answerLater(Answer answer) {
    scheduler_.soon([answer = std::move(answer), alive = alive_] {
        if (*alive)
            answer(parkFailure(ParkingFault::Helper));
    });
}

} // namespace genv::service
