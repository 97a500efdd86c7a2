// SPDX-License-Identifier: LGPL-2.1-or-later
// A request for devices: selects the devices, asks whether the caller may have them, and grants
// exactly those. If the devices changed hands while polkit processed the question, the request is
// planned again, and granted if the answer covers the new plan, too. Otherwise it is asked about
// again, as often as it takes. Each repetition means that somebody else got devices, so requests
// make progress. Only if a person approved something else, the call is refused, unless it may wait.
// A request above a limit needs a second approval, and its grant is marked as exempt.
#pragma once

#include "core/limits/admission.hpp"
#include "core/queue/quota_hold.hpp"
#include "dbus/calls/bus_context.hpp"
#include "dbus/calls/environment_options.hpp"
#include "dbus/calls/operation.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

namespace genv::dbus {

/// The differences between Activate and Attach. Every function looks up its environment again and
/// may throw core::Error.
struct DeviceRequest {
    std::function<std::optional<core::Plan>()>
        plan; ///< returns nothing if no devices are requested
    std::function<policy::Target(const std::optional<core::Plan>&)> target;
    std::function<bool(const core::Plan&)> stillHolds;
    std::function<core::QuotaViolation(const std::optional<core::Plan>&)> quota;
    /// `exempt`: the grant exceeds a limit and was approved.
    std::function<void(const std::optional<core::Plan>&, bool exempt)> apply;
    bool mayWait = false;
    /// Returns the plan of a request that exceeds a quota now and may be held back until it does
    /// not; nothing if it may not, or no use of the quota allows it. Unset: it may not.
    std::function<std::optional<core::Plan>()> hold = {};
};

/// Returns the wait of a plan, or null.
inline const core::PlannedWait* waitIn(const std::optional<core::Plan>& plan) {
    return plan ? std::get_if<core::PlannedWait>(&*plan) : nullptr;
}

/// Returns the devices that are kept for a user and count together with the request. Devices that
/// are kept for this very request, which already waited before a restart of the service, are
/// excluded.
inline core::KeptForUser keptFor(const BusContext& context, core::Uid owner,
                                 const core::EnvironmentRecord* environment,
                                 const std::optional<core::Plan>& plan) {
    const core::PlannedWait* wait = waitIn(plan);
    const auto abandoned = environment != nullptr && wait != nullptr
                               ? context.sharing.queue.abandoned(environment->id, wait->request)
                               : std::nullopt;
    return context.sharing.queue.keptFor(owner, abandoned);
}

/// Returns the plan of a request that a quota holds back, if it would be within the limits
/// once its owner holds nothing. Throws the errors of core::Queue::requireRoom().
inline std::optional<core::Plan>
holdPlanFor(const BusContext& context, const core::AttachRequest& request,
            const core::Placement& expected, const core::EnvironmentRecord* environment,
            const core::UserInfo& owner, core::Uid actor, bool isLoan) {
    const bool starts = environment == nullptr || !environment->isCounted();
    if (!core::fitsQuota(request, context.sharing.ledger.devices(), starts,
                         context.settings.current().limits.of(owner), isLoan))
        return std::nullopt;
    if (environment == nullptr || !context.sharing.queue.abandoned(environment->id, request))
        context.sharing.queue.requireRoom(owner.uid, actor);
    return core::PlannedWait{request, expected, true, true};
}

/// Returns the plan of a request that does not wait. If it cannot have its devices now, but could
/// take them on loan, it waits until it has them.
inline core::Plan planToTake(const BusContext& context, const core::AttachRequest& request,
                             const core::Requester& requester,
                             std::optional<std::chrono::seconds> lifetime,
                             core::Preemptible preemptible, core::Uid owner, core::Uid actor,
                             const core::EnvironmentRecord* parent) {
    const core::Queue& queue = context.sharing.queue;
    try {
        return queue.place(request, requester, lifetime, parent);
    } catch (const core::Error& error) {
        if (error.code() != core::ErrorCode::DeviceUnavailable || parent != nullptr ||
            !queue.couldTake(request, owner, preemptible, requester.environment))
            throw;
    }
    core::Requester waiting = requester;
    waiting.needsConsent = core::needsConsentToWait(actor);
    core::Plan plan = queue.placeOrWait(request, waiting, lifetime, parent);
    if (auto* wait = std::get_if<core::PlannedWait>(&plan)) {
        queue.requireRoom(owner, actor);
        wait->takesOnly = true;
    }
    return plan;
}

/// Returns the plan of a request. A request that waited before a restart of the service keeps its
/// position in the queue. `preemptible`: of the environment as the request makes it. `parent`: the
/// parent of an environment that does not exist yet. Throws the same errors as
/// core::Queue::place() and core::Queue::requireRoom().
inline core::Plan planFor(const BusContext& context, const core::AttachRequest& request,
                          const core::EnvironmentRecord* environment,
                          std::optional<std::chrono::seconds> lifetime, const WaitOptions& waiting,
                          core::Uid owner, core::Uid actor, core::Preemptible preemptible,
                          const core::EnvironmentRecord* parent = nullptr) {
    core::Requester requester =
        environment != nullptr ? core::Requester(environment) : core::Requester(owner);
    if (!waiting.wait)
        return planToTake(context, request, requester, lifetime, preemptible, owner, actor, parent);
    requester.needsConsent = core::needsConsentToWait(actor);
    core::Plan plan = context.sharing.queue.placeOrWait(request, requester, lifetime, parent);
    if (environment != nullptr && context.sharing.queue.abandoned(environment->id, request))
        return core::PlannedWait{request, core::placementOf(plan)};
    if (auto* wait = std::get_if<core::PlannedWait>(&plan)) {
        context.sharing.queue.requireRoom(owner, actor);
        wait->holdForQuota = waiting.holdForQuota;
    }
    return plan;
}

/// Returns whether, as of the last sample, something outside genv uses one of the devices. It may
/// be gone by now.
inline bool hasOccupied(const std::optional<core::Plan>& plan) {
    if (!plan)
        return false;
    const auto& devices = core::placementOf(*plan).attach;
    return std::any_of(devices.begin(), devices.end(),
                       [](const auto& device) { return device.occupied; });
}

/// How often a request waits for environments that are just ending before it is refused for want
/// of their devices.
inline constexpr int maxSettlings = 8;

/// A request for devices on its way to the grant.
template <typename Answer>
class Granting : public Operation<Granting<Answer>, Answer> {
  public:
    Granting(const BusContext& context, Answer reply, DeviceRequest request)
        : Operation<Granting, Answer>(std::move(reply)), context_(context),
          request_(std::move(request)) {}

    /// Selects the devices, and asks about them.
    void plan() {
        open_.reset();
        if (mustSettle()) {
            context_.sharing.lingering.whenSettled(this->later(&Granting::plan));
            return;
        }
        if (hasOccupied(plan_) && !std::exchange(isSampled_, true)) {
            context_.sharing.occupancy.sample(this->later(&Granting::plan));
            return;
        }
        if (plan_)
            open_ = context_.sharing.queue.open(*plan_);
        target_ = request_.target(plan_);
        context_.calls.gate.pass(this->reply_, target_, next(&Granting::onAuthorized));
    }

  private:
    template <typename Step>
    Gate::Proceed next(Step step) {
        return
            [self = this->shared_from_this(), step](Approval by) { std::invoke(step, *self, by); };
    }

    // Plans, and returns whether devices are missing that may become free in a moment, since
    // environments are just ending.
    bool mustSettle() {
        const bool maySettle = context_.sharing.lingering.isSettling() && settlings_ < maxSettlings;
        try {
            plan_ = request_.plan();
            if (!maySettle || waitIn(plan_) == nullptr)
                return false;
        } catch (const core::Error& error) {
            if (!maySettle || error.code() != core::ErrorCode::DeviceUnavailable)
                throw;
        }
        ++settlings_;
        return true;
    }

    void onAuthorized(Approval by) {
        by_ = by;
        checkLimits();
    }

    // If the request exceeds a limit while environments are just ending, waits for their ends
    // first, since the devices of such an environment may still count for the caller.
    void checkLimits() {
        if (!isCovered()) {
            plan();
            return;
        }
        violation_ = request_.quota(plan_);
        if (!violation_) {
            apply(false);
            return;
        }
        if (context_.sharing.lingering.isSettling() && !std::exchange(hasSettled_, true)) {
            context_.sharing.lingering.whenSettled(this->later(&Granting::checkLimits));
            return;
        }
        if (request_.hold && request_.hold())
            context_.calls.gate.passQuotaUnprompted(
                this->reply_, target_, next(&Granting::onQuotaAuthorized),
                [self = this->shared_from_this()] { self->hold(); });
        else
            context_.calls.gate.passQuota(this->reply_, target_, *violation_,
                                          next(&Granting::onQuotaAuthorized));
    }

    // The caller may not exceed the limit, so the request waits until it does not.
    void hold() {
        if (!isCovered()) {
            plan();
            return;
        }
        const core::QuotaViolation now = request_.quota(plan_);
        auto held = now ? request_.hold() : plan_;
        if (!held)
            core::fail(core::ErrorCode::QuotaExceeded, "{}", *now);
        plan_ = std::move(held);
        apply(false);
    }

    void onQuotaAuthorized(Approval by) {
        by_ = std::max(by_, by);
        if (!isCovered()) {
            plan();
            return;
        }
        const core::QuotaViolation now = request_.quota(plan_);
        if (!now || now == violation_)
            apply(now.has_value());
        else if (by == Approval::Person)
            core::fail(core::ErrorCode::QuotaExceeded, "{}", *now); // they approved another one
        else
            checkLimits();
    }

    // Returns whether the answers cover the request as it would be granted now. If not, it must be
    // planned and asked about again. Throws if the request has become impossible, and if a person
    // has approved something else, unless the request may wait.
    bool isCovered() {
        if (!plan_ || request_.stillHolds(*plan_))
            return true;
        open_.reset();
        const std::optional<core::Plan> now = planAgain();
        if (now && core::haveSameOutcome(*plan_, *now) && request_.target(now) == target_) {
            plan_ = now;
            return true;
        }
        if (now && by_ == Approval::Person && !request_.mayWait)
            core::fail(core::ErrorCode::DeviceUnavailable,
                       "the devices changed hands while authorization was given; try again");
        by_ = Approval::Rules;
        return false;
    }

    // Returns nothing if devices are missing, for which the request may still wait a moment.
    std::optional<core::Plan> planAgain() {
        try {
            return request_.plan();
        } catch (const core::Error& error) {
            if (error.code() != core::ErrorCode::DeviceUnavailable || by_ == Approval::Person)
                throw;
            return std::nullopt;
        }
    }

    void apply(bool exempt) {
        open_.reset();
        request_.apply(plan_, exempt);
    }

    const BusContext& context_;
    const DeviceRequest request_;
    std::optional<core::Plan> plan_;
    policy::Target target_;
    std::shared_ptr<void> open_; ///< tells other requests about the plan
    Approval by_ = Approval::Rules;
    core::QuotaViolation violation_;
    int settlings_ = 0;
    bool isSampled_ = false;
    bool hasSettled_ = false; ///< before the limits were checked
};

/// Grants a request once it is authorized.
template <typename... Values>
void carryOut(const BusContext& context, const Reply<Values...>& reply, DeviceRequest request) {
    std::make_shared<Granting<Reply<Values...>>>(context, reply, std::move(request))->plan();
}

/// Replies to a request that waited for its devices. If another user's process uses one of them,
/// the owner is warned first, which takes a sample.
template <typename... Values, typename Answer>
void answerOnceWarned(const BusContext& context, const Reply<Values...>& reply,
                      const core::EnvironmentId& id, Answer answer) {
    const auto indices = context.sharing.ledger.get(id).deviceIndices();
    const auto isOccupied = [&](core::DeviceIndex index) {
        const core::TableDevice* device = context.sharing.ledger.devices().find(index);
        return device != nullptr && device->isUsedOutside();
    };
    if (std::any_of(indices.begin(), indices.end(), isOccupied))
        context.sharing.occupancy.sample(reply.later(std::move(answer)));
    else
        answer();
}

} // namespace genv::dbus
