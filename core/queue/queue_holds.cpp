// SPDX-License-Identifier: LGPL-2.1-or-later
// The queue's requests that are held back for a quota.
#include "core/base/text.hpp"
#include "core/queue/queue.hpp"

namespace genv::core {

// If a client has not called again, its limits are not known yet. Children have no limits.
std::optional<Limits> Queue::limitsOn(Ticket ticket) const {
    const auto waiter = waiters_.find(ticket);
    if (waiter == waiters_.end() || ledger_.get(waiter->second.environment).parent)
        return std::nullopt;
    return limitsOf_(waiter->second.owner);
}

// Returns the holdings that a request would add to. `kept`: the devices of the earlier requests.
QuotaUse Queue::useBefore(Ticket ticket, const KeptDevices& kept) const {
    const EnvironmentRecord& environment = ledger_.get(ledger_.waits().at(ticket));
    QuotaUse use{holdingsOf(ledger_, environment.uid), holdingsOf(environment),
                 !environment.isCounted(),
                 willBeLoan(environment.configuration, ledger_.wait(ticket).request)};
    for (const KeptDevice& device : kept.of(environment.uid))
        use.ofUser.add(device.device, device.share, device.isLoan);
    return use;
}

std::optional<QuotaHold> Queue::heldBy(Ticket ticket, const KeptDevices& kept) const {
    const Wait& wait = ledger_.wait(ticket);
    const auto limits = wait.holdForQuota && !wait.exempt ? limitsOn(ticket) : std::nullopt;
    if (!limits)
        return std::nullopt;
    return quotaHold(wait.request, kept.devices(), &ledger_.get(ledger_.waits().at(ticket)),
                     useBefore(ticket, kept), *limits);
}

std::optional<QuotaHold> Queue::heldBy(Ticket ticket) const {
    const EnvironmentRecord* parent = parentOf(ledger_.get(ledger_.waits().at(ticket)));
    KeptDevices kept(ledger_, clock_.bootNow(), times_().keepFor, parent);
    for (const Ticket other : order()) {
        if (other == ticket)
            break;
        if (kept.areFor(ledger_.get(ledger_.waits().at(other))))
            keep(other, kept);
    }
    return heldBy(ticket, kept);
}

// Selects the devices of a waiting request. One that may be held for a quota gets only devices that
// the quota allows. Returns nothing if it goes on waiting.
std::optional<Placement> Queue::placeWaiting(Ticket ticket, const KeptDevices& kept) const {
    const EnvironmentRecord& environment = ledger_.get(ledger_.waits().at(ticket));
    const Wait& wait = ledger_.wait(ticket);
    const auto limits = wait.holdForQuota && !wait.exempt ? limitsOn(ticket) : std::nullopt;
    return placeIfAvailable(wait.request, kept.devices(), requesterOf(environment, wait),
                            limits ? withoutForbidden(kept.reservations(), wait.request,
                                                      kept.devices(), environment,
                                                      useBefore(ticket, kept), *limits)
                                   : kept.reservations(),
                            leaseEnd(&environment, wait.lifetime, kept.now()));
}

// Records that a quota holds a request back, or no longer does, and stops or continues its time.
void Queue::holdBack(Ticket ticket, bool isHeld) {
    if (ledger_.wait(ticket).heldSince.has_value() == isHeld)
        return;
    ledger_.holdBack(ticket, isHeld);
    limitWait(ticket, waiters_.at(ticket));
}

void Queue::onTimeout(Ticket ticket, const std::string& why) {
    const auto hold = heldBy(ticket);
    const std::string because =
        hold ? "; " + describeHold(*hold, escaped(waiters_.at(ticket).owner.name)) : "";
    refuse(ticket, {ErrorCode::Timeout, why + because});
}

} // namespace genv::core
