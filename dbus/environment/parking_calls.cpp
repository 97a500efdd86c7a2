// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dbus/environment/parking_calls.hpp"

#include "core/base/duration.hpp"
#include "core/base/error.hpp"
#include "dbus/calls/environment_options.hpp"
#include "dbus/calls/granting.hpp"
#include "dbus/calls/operation.hpp"
#include "dbus/calls/waiting_calls.hpp"

#include <memory>
#include <utility>

namespace genv::dbus {

namespace {

// A pending call of Resume. The functions that wait for the next step keep it alive.
class Resuming : public Operation<Resuming, ResumeReply> {
  public:
    Resuming(const BusContext& context, ResumeReply reply,
             const core::EnvironmentRecord& environment, core::RequestTerms terms)
        : Operation(std::move(reply)),
          context_(context), wanted_{environment.id, environment.sequence,
                                     environment.parking
                                         ? core::requestToResume(*environment.parking)
                                         : core::AttachRequest{},
                                     std::nullopt, true},
          terms_(terms) {}

    void start() {
        if (environment().awaitsResume()) {
            context_.calls.gate.pass(reply_, core::targetOf(environment()), later(&Resuming::join));
            return;
        }
        if (!environment().isAt(core::ParkingStep::Parked)) {
            context_.calls.gate.pass(reply_, core::targetOf(environment()),
                                     later(&Resuming::awaitProcesses));
            return;
        }
        if (terms_.wait) {
            context_.sharing.queue.requireNotDismissed(wanted_.environment, wanted_.request,
                                                       caller().uid);
            present_ = context_.calls.waitingCalls.remember(reply_);
        }
        context_.machine.users.describe(environment().uid, later(&Resuming::takeOwner));
    }

  private:
    [[nodiscard]] const core::EnvironmentRecord& environment() const {
        return core::sameEnvironment(context_.sharing.ledger, wanted_.environment,
                                     wanted_.sequence);
    }

    void takeOwner(const core::UserInfo& owner) {
        carryOut(
            context_, reply_, {wanted_, owner, caller().uid, terms_}, [] { return core::Member(); },
            [self = shared_from_this(), owner](const core::Granted& granted) {
                self->take(granted, owner);
            });
    }

    void take(const core::Granted& granted, const core::UserInfo& owner) {
        if (!granted.ticket) {
            awaitProcesses();
            return;
        }
        awaitDevices(context_.sharing.queue, context_.calls.waitingCalls, reply_, *granted.ticket,
                     owner, terms_.timeout,
                     [self = shared_from_this()] { self->awaitProcesses(); });
    }

    // An environment that was parked for others waits by itself, also if the caller leaves.
    void join() {
        if (!terms_.wait && environment().awaitsResume())
            core::fail(core::ErrorCode::DeviceUnavailable,
                       "environment {} waits for its GPUs in the queue already, and goes on by "
                       "itself; add --wait to wait until then",
                       wanted_.environment);
        if (terms_.timeout)
            timeout_ = context_.runtime.scheduler.after(*terms_.timeout, [weak = weak_from_this()] {
                if (const auto self = weak.lock())
                    self->reply_.guarded([&] { self->onTimeout(); });
            });
        awaitProcesses();
    }

    void onTimeout() const {
        core::fail(core::ErrorCode::Timeout, "no device became free within {}",
                   core::formatDuration(*terms_.timeout));
    }

    // With its devices, the environment resumes even if the caller leaves.
    void awaitProcesses() {
        if (!environment().isAt(core::ParkingStep::Resuming) && !environment().awaitsResume())
            core::requireParked(environment());
        present_ = context_.calls.waitingCalls.remember(reply_);
        context_.sharing.parkings.whenResumed(wanted_.environment, later(&Resuming::answer));
    }

    void answer(const std::optional<core::Error>& refusal) const {
        if (refusal)
            throw core::Error(*refusal);
        reply_.send(environment().deviceIndices());
    }

    const BusContext& context_;
    const core::WantedDevices wanted_;
    const core::RequestTerms terms_;
    std::shared_ptr<void> present_;
    std::unique_ptr<core::Scheduled> timeout_; ///< of a caller that waits for others' takings
};

} // namespace

void park(const BusContext& context, const ParkReply& reply,
          const core::EnvironmentRecord& environment, VariantMap options) {
    CallOptions(std::move(options)).finish();
    policy::Target target = core::targetOf(environment);
    target.devices = environment.deviceIndices();
    context.calls.gate.pass(
        reply, target, [&context, reply, id = environment.id, sequence = environment.sequence] {
            core::Parkings& parkings = context.sharing.parkings;
            static_cast<void>(core::sameEnvironment(context.sharing.ledger, id, sequence));
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
    const core::RequestTerms terms = takeResumeOptions(wanted);
    wanted.finish();
    std::make_shared<Resuming>(context, reply, environment, terms)->start();
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
