// SPDX-License-Identifier: LGPL-2.1-or-later
// The way of a request for devices to its grant: core/requests/request_decision.hpp decides.
// Between two decisions, this waits or asks polkit.
#pragma once

#include "core/requests/granting.hpp"
#include "core/requests/request_decision.hpp"
#include "dbus/calls/bus_context.hpp"
#include "dbus/calls/operation.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

namespace genv::dbus {

/// A request for devices on its way to the grant.
template <typename Answer>
class Granting : public Operation<Granting<Answer>, Answer> {
  public:
    using Member = std::function<core::Member()>;
    using Then = std::function<void(const core::Granted&)>;

    Granting(const BusContext& context, Answer reply, core::DeviceRequest request, Member member,
             Then then)
        : Operation<Granting, Answer>(std::move(reply)), context_(context),
          request_(std::move(request)), member_(std::move(member)), then_(std::move(then)) {}

    /// Takes the next decision, and carries it out.
    void proceed() {
        open_.reset();
        const core::Limits limits = context_.settings.current().limits.of(request_.owner);
        const core::RequestState state{context_.sharing.ledger, context_.sharing.queue, limits,
                                       context_.sharing.lingering.isSettling()};
        const core::RequestDecision decision = core::decide(request_, progress_, state);
        if (const auto* grant = std::get_if<core::RequestGrant>(&decision))
            then_(core::give(request_, *grant, member_(), this->caller().actor(), state));
        else
            std::visit([this](const auto& step) { this->take(step); }, decision);
    }

  private:
    void take(const core::RequestGrant& /*applied*/) {}

    void take(const core::AwaitEnds& /*step*/) {
        context_.sharing.lingering.whenSettled(this->later(&Granting::proceed));
    }

    void take(const core::AwaitSample& /*step*/) {
        context_.sharing.occupancy.sample(this->later(&Granting::proceed));
    }

    void take(const core::DeviceQuestion& question) {
        open(question.plan);
        context_.calls.gate.pass(this->reply_, question.target, onAllowed());
    }

    void take(const core::LimitQuestion& question) {
        const core::Target& target = question.asked.target;
        open(question.asked.plan);
        if (question.hasOtherWay)
            context_.calls.gate.passQuotaUnprompted(this->reply_, target, onAllowed(),
                                                    [self = this->shared_from_this()] {
                                                        self->progress_.refuseToExceed();
                                                        self->proceed();
                                                    });
        else
            context_.calls.gate.passQuota(this->reply_, target, question.violation, onAllowed());
    }

    void open(const std::optional<core::Plan>& plan) {
        if (plan)
            open_ = context_.sharing.queue.open(*plan);
    }

    [[nodiscard]] Gate::Proceed onAllowed() {
        return [self = this->shared_from_this()](core::Approval by) {
            self->progress_.allow(by);
            self->proceed();
        };
    }

    const BusContext& context_;
    const core::DeviceRequest request_;
    const Member member_;
    const Then then_;
    core::RequestProgress progress_;
    std::shared_ptr<void> open_; ///< tells other requests about the plan in the question
};

/// Grants a request once it is authorized, with the process or Jupyter kernel that `member` returns
/// by then, and calls `then` with the grant.
template <typename... Values>
void carryOut(const BusContext& context, const Reply<Values...>& reply, core::DeviceRequest request,
              std::function<core::Member()> member,
              std::function<void(const core::Granted&)> then) {
    std::make_shared<Granting<Reply<Values...>>>(context, reply, std::move(request),
                                                 std::move(member), std::move(then))
        ->proceed();
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
