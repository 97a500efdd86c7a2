// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dbus/manager/wait_cancelling.hpp"

#include "dbus/calls/operation.hpp"

#include <fmt/format.h>

#include <memory>

namespace genv::dbus {

namespace {

// A pending call of CancelWait. Tickets are never reused, so the ticket always refers to the same
// wait.
class WaitCancelling : public Operation<WaitCancelling, Reply<>> {
  public:
    WaitCancelling(const BusContext& context, const Reply<>& reply, core::Queue::Ticket ticket)
        : Operation(reply), ledger_(context.sharing.ledger), queue_(context.sharing.queue),
          users_(context.machine.users), gate_(context.calls.gate), ticket_(ticket) {}

    void start() {
        const core::EnvironmentRecord& environment = waiting();
        policy::Target target;
        target.environment = environment.id;
        target.owner = environment.uid;
        target.ownerName = environment.user;
        gate_.pass(reply_, target, later(&WaitCancelling::learnWho));
    }

  private:
    [[nodiscard]] const core::EnvironmentRecord& waiting() const {
        queue_.requireWait(ticket_);
        return ledger_.get(ledger_.waits().at(ticket_));
    }

    // The name is shown to the waiting caller, who knows their own.
    void learnWho() {
        static_cast<void>(waiting());
        if (ledger_.wait(ticket_).actor == caller().uid)
            cancel("");
        else
            users_.describe(caller().uid, later(&WaitCancelling::cancelFor));
    }

    void cancelFor(const core::UserInfo& user) {
        cancel(fmt::format(" by {} ({})", user.name, user.uid));
    }

    void cancel(const std::string& byUser) {
        queue_.dismiss(ticket_, caller().actor(), "the wait was canceled" + byUser);
        reply_.send();
    }

    core::Ledger& ledger_;
    core::Queue& queue_;
    core::Users& users_;
    Gate& gate_;
    const core::Queue::Ticket ticket_;
};

} // namespace

void cancelWait(const BusContext& context, const Reply<>& reply, core::Queue::Ticket ticket) {
    std::make_shared<WaitCancelling>(context, reply, ticket)->start();
}

} // namespace genv::dbus
