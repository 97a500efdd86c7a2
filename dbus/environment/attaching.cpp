// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dbus/environment/attaching.hpp"

#include "core/base/error.hpp"
#include "dbus/calls/device_request.hpp"
#include "dbus/calls/environment_options.hpp"
#include "dbus/calls/operation.hpp"
#include "dbus/calls/waiting_calls.hpp"

#include <memory>
#include <utility>

namespace genv::dbus {

namespace {

// A pending call of Attach. The functions that wait for the next step keep it alive.
class Attaching : public Operation<Attaching, AttachReply> {
  public:
    Attaching(const BusContext& context, AttachReply reply,
              const core::EnvironmentRecord& environment, AttachCallOptions wanted)
        : Operation(std::move(reply)), context_(context), id_(environment.id),
          sequence_(environment.sequence), owner_{environment.uid, environment.user, {}},
          wanted_(std::move(wanted)) {}

    void start() {
        requireMayLend(environment().parent.has_value(), wanted_.preemptible);
        if (wanted_.waiting.wait) {
            context_.sharing.queue.requireNotDismissed(id_, wanted_.request, caller().uid);
            present_ = context_.calls.waitingCalls.remember(reply_);
        }
        context_.machine.users.describe(owner_.uid, later(&Attaching::takeOwner));
    }

  private:
    [[nodiscard]] const core::EnvironmentRecord& environment() const {
        return sameEnvironment(context_.sharing.ledger, id_, sequence_);
    }

    void takeOwner(const core::UserInfo& owner) {
        owner_ = owner;
        carryOutRequest();
    }

    void carryOutRequest() {
        const auto self = shared_from_this();
        DeviceRequest request;
        request.plan = [self] { return self->plan(); };
        request.target = [self](const auto& plan) { return self->target(*plan); };
        request.stillHolds = [self](const core::Plan& plan) {
            return self->context_.sharing.queue.stillHolds(plan, &self->environment());
        };
        request.quota = [self](const auto& plan) { return self->quota(*plan); };
        request.apply = [self](const auto& plan, bool exempt) { self->apply(*plan, exempt); };
        request.mayWait = wanted_.waiting.wait;
        request.hold = [self] { return self->hold(); };
        carryOut(context_, reply_, std::move(request));
    }

    [[nodiscard]] std::optional<core::Plan> plan() const {
        return planFor(context_, wanted_.request, &environment(), wanted_.waiting.lifetime,
                       wanted_.waiting, owner_.uid, reply_.caller().uid,
                       environment().configuration.preemptible);
    }

    [[nodiscard]] policy::Target target(const core::Plan& plan) const {
        policy::Target target = targetOf(environment());
        addDevices(target, plan, wanted_.request.overSubscribe, context_.sharing.ledger);
        if (const core::EnvironmentRecord* parent = context_.sharing.ledger.parentOf(environment()))
            addParent(target, *parent);
        return target;
    }

    [[nodiscard]] core::QuotaViolation quota(const core::Plan& plan) const {
        if (environment().parent)
            return std::nullopt; // its devices belong to the parent, and are counted there
        const core::Limits limits = context_.settings.current().limits.of(owner_);
        if (auto violation = admitEndOfLoan())
            return violation;
        if (auto violation =
                core::admitAttachment(context_.sharing.ledger, changedEnvironment(), limits, plan,
                                      keptFor(context_, owner_.uid, &environment(), plan)))
            return violation;
        return admitLifetime();
    }

    // Returns the environment with the configuration that it gets with the devices.
    [[nodiscard]] core::EnvironmentRecord changedEnvironment() const {
        core::EnvironmentRecord changed = environment();
        if (wanted_.preemptible)
            changed.configuration.preemptible = *wanted_.preemptible;
        return changed;
    }

    [[nodiscard]] core::QuotaViolation admitEndOfLoan() const {
        if (wanted_.preemptible != core::Preemptible::No)
            return std::nullopt;
        return core::admitEndOfLoan(context_.sharing.ledger, environment(),
                                    context_.settings.current().limits.of(owner_));
    }

    [[nodiscard]] core::QuotaViolation admitLifetime() const {
        if (!wanted_.waiting.lifetime)
            return std::nullopt;
        return core::admitLifetime(context_.settings.current().limits.of(owner_),
                                   std::chrono::microseconds{0}, wanted_.waiting.lifetime);
    }

    [[nodiscard]] std::optional<core::Plan> hold() const {
        if (!wanted_.waiting.holdForQuota || admitLifetime() || admitEndOfLoan())
            return std::nullopt;
        const core::Plan expected = *plan();
        return holdPlanFor(context_, wanted_.request, core::placementOf(expected), &environment(),
                           owner_, reply_.caller().uid,
                           core::willBeLoan(changedEnvironment().configuration, wanted_.request));
    }

    void apply(const core::Plan& plan, bool exempt) {
        const auto abandoned = context_.sharing.queue.abandoned(id_, wanted_.request);
        if (!abandoned)
            context_.sharing.ledger.attach(
                environment().id, plan, reply_.caller().actor(),
                {exempt, wanted_.waiting.lifetime, wanted_.waiting.priority, wanted_.preemptible});
        if (std::holds_alternative<core::Placement>(plan)) {
            answer();
            return;
        }
        awaitDevices(context_.sharing.queue, context_.calls.waitingCalls, reply_,
                     abandoned ? *abandoned : environment().waits.back().ticket, owner_,
                     wanted_.waiting.timeout, [self = shared_from_this()] {
                         answerOnceWarned(self->context_, self->reply_, self->id_,
                                          [self] { self->answer(); });
                     });
    }

    void answer() const { reply_.send(environment().deviceIndices()); }

    const BusContext& context_;
    const core::EnvironmentId id_;
    const std::uint64_t sequence_;
    core::UserInfo owner_;
    const AttachCallOptions wanted_;
    std::shared_ptr<void> present_;
};

} // namespace

void attach(const BusContext& context, const AttachReply& reply,
            const core::EnvironmentRecord& environment, VariantMap options) {
    auto wanted = readAttachOptions(std::move(options), environment);
    std::make_shared<Attaching>(context, reply, environment, std::move(wanted))->start();
}

} // namespace genv::dbus
