// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/requests/request_decision.hpp"

#include "core/base/error.hpp"

#include <algorithm>
#include <utility>

namespace genv::core {

namespace {

// How often a request waits for environments that are just ending before it is refused for want of
// their devices.
constexpr int maxSettlings = 8;

// Returns whether, as of the last sample, something outside genv uses one of the devices. It may be
// gone by now.
bool hasOccupied(const std::optional<Plan>& plan) {
    return plan && std::ranges::any_of(placementOf(*plan).attach, &Placement::Device::occupied);
}

} // namespace

/// The steps of one decision.
class Deciding {
  public:
    Deciding(const DeviceRequest& request, RequestProgress& progress, const RequestState& state)
        : request_(request), progress_(progress), state_(state), now_(request, state) {}

    RequestDecision decide() {
        if (progress_.devices_ != RequestProgress::Answer::Allowed || !isCovered())
            return plan();
        return checkLimits();
    }

  private:
    // Selects the devices, and asks about them.
    RequestDecision plan() {
        progress_.devices_ = progress_.exceeding_ = RequestProgress::Answer::None;
        std::optional<Plan> plan;
        if (mustSettle(plan))
            return AwaitEnds{};
        if (hasOccupied(plan) && !std::exchange(progress_.isSampled_, true))
            return AwaitSample{};
        progress_.asked_ = DeviceQuestion{plan, now_.target(plan)};
        return *progress_.asked_;
    }

    // Plans, and returns whether devices are missing that may become free in a moment, since
    // environments are just ending.
    bool mustSettle(std::optional<Plan>& plan) {
        const bool maySettle = state_.isSettling && progress_.settlings_ < maxSettlings;
        try {
            plan = now_.plan();
            if (!maySettle || waitIn(plan) == nullptr)
                return false;
        } catch (const Error& error) {
            if (!maySettle || error.code() != ErrorCode::DeviceUnavailable)
                throw;
        }
        ++progress_.settlings_;
        return true;
    }

    RequestDecision checkLimits() {
        const std::optional<Plan>& plan = progress_.asked_->plan;
        const QuotaViolation violation = now_.violation(plan);
        if (!violation)
            return RequestGrant{plan};
        if (progress_.exceeding_ == RequestProgress::Answer::Refused)
            return holdBack(*violation);
        if (progress_.exceeding_ == RequestProgress::Answer::Allowed) {
            if (violation == progress_.exceeds_)
                return RequestGrant{plan, true};
            if (progress_.exceedingBy_ == Approval::Person) // they approved another one
                fail(ErrorCode::QuotaExceeded, "{}", *violation);
        }
        // The devices of an environment that is just ending may still count for the caller.
        if (state_.isSettling && !std::exchange(progress_.hasSettled_, true))
            return AwaitEnds{};
        progress_.exceeds_ = violation;
        progress_.exceeding_ = RequestProgress::Answer::None;
        return LimitQuestion{*progress_.asked_, *violation, now_.heldPlan().has_value()};
    }

    // The caller may not exceed the limit, so the request waits until it does not.
    [[nodiscard]] RequestDecision holdBack(const std::string& violation) const {
        if (const auto held = now_.heldPlan())
            return RequestGrant{held};
        fail(ErrorCode::QuotaExceeded, "{}", violation);
    }

    // Returns whether the answers cover the request as it would be granted now. If not, it must be
    // planned and asked about again. Throws if the request has become impossible, and if a person
    // has approved something else, unless the request may wait.
    bool isCovered() {
        std::optional<Plan>& plan = progress_.asked_->plan;
        if (!plan || now_.stillHolds(*plan))
            return true;
        const std::optional<Plan> again = planAgain();
        if (again && haveSameOutcome(*plan, *again) &&
            now_.target(again) == progress_.asked_->target) {
            plan = again;
            return true;
        }
        if (again && progress_.by_ == Approval::Person && !request_.terms.wait)
            fail(ErrorCode::DeviceUnavailable,
                 "the devices changed hands while authorization was given; try again");
        progress_.by_ = Approval::Rules;
        return false;
    }

    // Returns nothing if devices are missing, for which the request may still wait a moment.
    [[nodiscard]] std::optional<Plan> planAgain() const {
        try {
            return now_.plan();
        } catch (const Error& error) {
            if (error.code() != ErrorCode::DeviceUnavailable || progress_.by_ == Approval::Person)
                throw;
            return std::nullopt;
        }
    }

    const DeviceRequest& request_;
    RequestProgress& progress_;
    const RequestState& state_;
    const EvaluatedRequest now_;
};

void RequestProgress::allow(Approval by) {
    if (devices_ != Answer::Allowed) {
        devices_ = Answer::Allowed;
        by_ = by;
        return;
    }
    exceeding_ = Answer::Allowed;
    exceedingBy_ = by;
    by_ = std::max(by_, by);
}

void RequestProgress::refuseToExceed() {
    exceeding_ = Answer::Refused;
}

RequestDecision decide(const DeviceRequest& request, RequestProgress& progress,
                       const RequestState& state) {
    return Deciding(request, progress, state).decide();
}

} // namespace genv::core
