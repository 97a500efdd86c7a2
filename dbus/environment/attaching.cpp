// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dbus/environment/attaching.hpp"

#include "dbus/calls/environment_options.hpp"
#include "dbus/calls/granting.hpp"
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
        : Operation(std::move(reply)),
          context_(context), wanted_{environment.id, environment.sequence,
                                     std::move(wanted.request), wanted.preemptible},
          terms_(wanted.terms) {}

    void start() {
        requireMayLend(environment().parent.has_value(), wanted_.preemptible);
        if (terms_.wait) {
            context_.sharing.queue.requireNotDismissed(wanted_.environment, wanted_.request,
                                                       caller().uid);
            present_ = context_.calls.waitingCalls.remember(reply_);
        }
        context_.machine.users.describe(environment().uid, later(&Attaching::takeOwner));
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
            answer();
            return;
        }
        awaitDevices(context_.sharing.queue, context_.calls.waitingCalls, reply_, *granted.ticket,
                     owner, terms_.timeout, [self = shared_from_this()] {
                         answerOnceWarned(self->context_, self->reply_, self->wanted_.environment,
                                          [self] { self->answer(); });
                     });
    }

    void answer() const { reply_.send(environment().deviceIndices()); }

    const BusContext& context_;
    const core::WantedDevices wanted_;
    const core::RequestTerms terms_;
    std::shared_ptr<void> present_;
};

} // namespace

void attach(const BusContext& context, const AttachReply& reply,
            const core::EnvironmentRecord& environment, VariantMap options) {
    auto wanted = readAttachOptions(std::move(options), environment);
    std::make_shared<Attaching>(context, reply, environment, std::move(wanted))->start();
}

} // namespace genv::dbus
