// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/environment/taking_follower.hpp"

#include "client/genvctl/environment/loans.hpp"

#include <string>
#include <utility>

namespace genv::ctl {

namespace {

std::string stageOf(const std::optional<Taking>& taking) {
    std::string stage;
    if (taking) {
        for (const TakenEnvironment& each : taking->environments)
            stage += " " + each.id;
    }
    return stage;
}

} // namespace

std::optional<TurnLine> TakingFollower::follow(const WaitingRequest& request,
                                               Clock::time_point now) {
    if (last_ && stageOf(request.taking) != stageOf(last_)) {
        TurnLine failed(
            failedTakingText(*std::exchange(last_, std::nullopt), request.problem.value_or("")));
        failed.stays = true;
        return failed;
    }
    if (!request.taking)
        return std::nullopt;
    if (!last_)
        began_ = now;
    last_ = request.taking;
    TurnLine line(takingText(*request.taking, now - began_), stageOf(last_));
    line.counts = true;
    return line;
}

} // namespace genv::ctl
