// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dbus/environment/parking_calls.hpp"

#include "core/base/duration.hpp"
#include "core/base/error.hpp"
#include "dbus/calls/device_request.hpp"
#include "dbus/calls/environment_options.hpp"
#include "dbus/calls/operation.hpp"
#include "dbus/calls/waiting_calls.hpp"

#include <memory>
#include <utility>

namespace genv::dbus {

namespace {

void requireParked(const core::EnvironmentRecord& environment) {
    if (!environment.isAt(core::ParkingStep::Parked))
        core::fail(core::ErrorCode::NotParked, "environment {} is not parked", environment.id);
    if (!environment.waits.empty())
        core::fail(core::ErrorCode::Busy, "environment {} already waits for its GPUs",
                   environment.id);
}

// A pending call of Resume. The functions that wait for the next step keep it alive.
class Resuming : public Operation<Resuming, ResumeReply> {
  public:
    Resuming(const BusContext& context, ResumeReply reply,
             const core::EnvironmentRecord& environment, WaitOptions waiting)
        : Operation(std::move(reply)), context_(context), id_(environment.id),
          sequence_(environment.sequence), owner_{environment.uid, environment.user, {}},
          waiting_(waiting),
          request_(environment.parking ? core::requestToResume(*environment.parking)
                                       : core::AttachRequest{}) {}

    void start() {
        if (environment().awaitsResume()) {
            context_.calls.gate.pass(reply_, targetOf(environment()), later(&Resuming::join));
            return;
        }
        if (!environment().isAt(core::ParkingStep::Parked)) {
            context_.calls.gate.pass(reply_, targetOf(environment()),
                                     later(&Resuming::awaitProcesses));
            return;
        }
        if (waiting_.wait) {
            context_.sharing.queue.requireNotDismissed(id_, request_, caller().uid);
            present_ = context_.calls.waitingCalls.remember(reply_);
        }
        context_.machine.users.describe(owner_.uid, later(&Resuming::takeOwner));
    }

  private:
    [[nodiscard]] const core::EnvironmentRecord& environment() const {
        return sameEnvironment(context_.sharing.ledger, id_, sequence_);
    }

    [[nodiscard]] std::optional<core::Queue::Ticket> abandoned() const {
        return context_.sharing.queue.abandoned(id_, request_);
    }

    void takeOwner(const core::UserInfo& owner) {
        owner_ = owner;
        const auto self = shared_from_this();
        DeviceRequest request;
        request.plan = [self] { return self->plan(); };
        request.target = [self](const auto& plan) { return self->target(*plan); };
        request.stillHolds = [self](const core::Plan& plan) {
            return self->context_.sharing.queue.stillHolds(plan, &self->environment());
        };
        request.quota = [self](const auto& plan) { return self->quota(*plan); };
        request.apply = [self](const auto& plan, bool exempt) { self->apply(*plan, exempt); };
        request.mayWait = waiting_.wait;
        request.hold = [self] { return self->hold(); };
        carryOut(context_, reply_, std::move(request));
    }

    [[nodiscard]] std::optional<core::Plan> plan() const {
        if (!abandoned())
            requireParked(environment());
        return planFor(context_, request_, &environment(), std::nullopt, waiting_, owner_.uid,
                       reply_.caller().uid, environment().configuration.preemptible);
    }

    [[nodiscard]] policy::Target target(const core::Plan& plan) const {
        policy::Target target = targetOf(environment());
        addDevices(target, plan, false, context_.sharing.ledger);
        return target;
    }

    [[nodiscard]] core::QuotaViolation quota(const core::Plan& plan) const {
        return core::admitAttachment(context_.sharing.ledger, environment(),
                                     context_.settings.current().limits.of(owner_), plan,
                                     keptFor(context_, owner_.uid, &environment(), plan));
    }

    [[nodiscard]] std::optional<core::Plan> hold() const {
        if (!waiting_.holdForQuota)
            return std::nullopt;
        const core::Plan expected = *plan();
        return holdPlanFor(context_, request_, core::placementOf(expected), &environment(), owner_,
                           reply_.caller().uid,
                           core::willBeLoan(environment().configuration, request_));
    }

    void apply(const core::Plan& plan, bool exempt) {
        const auto left = abandoned();
        if (!left)
            context_.sharing.ledger.resume(id_, plan, reply_.caller().actor(),
                                           {exempt, std::nullopt, waiting_.priority});
        if (std::holds_alternative<core::Placement>(plan)) {
            awaitProcesses();
            return;
        }
        awaitDevices(context_.sharing.queue, context_.calls.waitingCalls, reply_,
                     left ? *left : environment().waits.back().ticket, owner_, waiting_.timeout,
                     [self = shared_from_this()] { self->awaitProcesses(); });
    }

    // An environment that was parked for others waits by itself, also if the caller leaves.
    void join() {
        if (!waiting_.wait && environment().awaitsResume())
            core::fail(core::ErrorCode::DeviceUnavailable,
                       "environment {} waits for its GPUs in the queue already, and goes on by "
                       "itself; add --wait to wait until then",
                       id_);
        if (waiting_.timeout)
            timeout_ =
                context_.runtime.scheduler.after(*waiting_.timeout, [weak = weak_from_this()] {
                    if (const auto self = weak.lock())
                        self->reply_.guarded([&] { self->onTimeout(); });
                });
        awaitProcesses();
    }

    void onTimeout() const {
        core::fail(core::ErrorCode::Timeout, "no device became free within {}",
                   core::formatDuration(*waiting_.timeout));
    }

    // With its devices, the environment resumes even if the caller leaves.
    void awaitProcesses() {
        if (!environment().isAt(core::ParkingStep::Resuming) && !environment().awaitsResume())
            requireParked(environment());
        present_ = context_.calls.waitingCalls.remember(reply_);
        context_.sharing.parkings.whenResumed(id_, later(&Resuming::answer));
    }

    void answer(const std::optional<core::Error>& refusal) const {
        if (refusal)
            throw core::Error(*refusal);
        reply_.send(environment().deviceIndices());
    }

    const BusContext& context_;
    const core::EnvironmentId id_;
    const std::uint64_t sequence_;
    core::UserInfo owner_;
    const WaitOptions waiting_;
    const core::AttachRequest request_;
    std::shared_ptr<void> present_;
    std::unique_ptr<core::Scheduled> timeout_; ///< of a caller that waits for others' takings
};

} // namespace

void park(const BusContext& context, const ParkReply& reply,
          const core::EnvironmentRecord& environment, VariantMap options) {
    CallOptions(std::move(options)).finish();
    policy::Target target = targetOf(environment);
    target.devices = environment.deviceIndices();
    context.calls.gate.pass(
        reply, target, [&context, reply, id = environment.id, sequence = environment.sequence] {
            core::Parkings& parkings = context.sharing.parkings;
            static_cast<void>(sameEnvironment(context.sharing.ledger, id, sequence));
            const auto remembered = context.calls.waitingCalls.remember(
                reply, [&parkings, id] { parkings.cancel(id); });
            parkings.park(
                id, reply.caller().actor(),
                reply.later([reply, remembered](const std::optional<core::Error>& refusal) {
                    if (refusal)
                        throw core::Error(*refusal);
                    reply.send();
                }));
        });
}

void resume(const BusContext& context, const ResumeReply& reply,
            const core::EnvironmentRecord& environment, VariantMap options) {
    CallOptions wanted(std::move(options));
    const WaitOptions waiting = takeResumeOptions(wanted);
    wanted.finish();
    std::make_shared<Resuming>(context, reply, environment, waiting)->start();
}

const char* stateOf(const core::EnvironmentRecord& environment) {
    if (!environment.parking)
        return "active";
    switch (environment.parking->step) {
    case core::ParkingStep::Parking:
        return "parking";
    case core::ParkingStep::Resuming:
    case core::ParkingStep::Undoing:
        return "resuming";
    case core::ParkingStep::Parked:
    case core::ParkingStep::Ending:
        break;
    }
    return "parked";
}

} // namespace genv::dbus
