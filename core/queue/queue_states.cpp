// SPDX-License-Identifier: LGPL-2.1-or-later
// What the requests in the queue wait for, and when they are expected to start.
#include "core/queue/expected_start.hpp"
#include "core/queue/queue.hpp"

#include <set>
#include <vector>

namespace genv::core {

Queue::WaitState Queue::stateOf(Ticket ticket, const KeptDevices& kept) const {
    if (const auto hold = heldBy(ticket, kept))
        return {ticket, WaitsFor::Quota, hold};
    const EnvironmentRecord& environment = ledger_.get(ledger_.waits().at(ticket));
    const Wait& wait = ledger_.wait(ticket);
    try {
        if (placeIfAvailable(wait.request, kept.devices(), requesterOf(environment, wait)))
            return {ticket, WaitsFor::Earlier, std::nullopt};
    } catch (const Error&) { // NOLINT(bugprone-empty-catch): the devices have left the machine
    }
    return {ticket, WaitsFor::Devices, std::nullopt};
}

std::vector<Queue::WaitState> Queue::states() const {
    KeptByParent all;
    std::vector<WaitState> states;
    for (const QueuePlace& place : places()) {
        const Ticket ticket = place.request.ticket;
        const EnvironmentRecord* parent = parentOf(ledger_.get(ledger_.waits().at(ticket)));
        KeptDevices& kept =
            all.try_emplace(parent, ledger_, clock_.bootNow(), times_().keepFor, parent)
                .first->second;
        states.push_back(stateOf(ticket, kept));
        states.back().standing = standingOf(place);
        keep(ticket, kept);
    }
    addExpectedStarts(states);
    return states;
}

void Queue::addExpectedStarts(std::vector<WaitState>& states) const {
    if (history_ == nullptr || !history_->isReliable())
        return;
    std::vector<Ticket> tickets;
    for (const WaitState& state : states) {
        if (!state.hold)
            tickets.push_back(state.ticket);
    }
    const auto starts =
        expectedStarts(ledger_, tickets, *history_, clock_.bootNow(), times_().keepFor);
    for (WaitState& state : states) {
        if (const auto start = starts.find(state.ticket); start != starts.end())
            state.expectedStart = start->second;
    }
}

// Notes once for each request when it is expected to start. Its grant shows whether that was right.
void Queue::noteExpectedStarts() {
    std::vector<Ticket> tickets;
    for (const Ticket ticket : order()) {
        if (!ledger_.wait(ticket).heldSince)
            tickets.push_back(ticket);
    }
    std::erase_if(notedStarts_, [waiting = std::set(tickets.begin(), tickets.end())](
                                    const auto& noted) { return !waiting.contains(noted.first); });
    if (history_ == nullptr || notedStarts_.size() == tickets.size())
        return;
    const BootTime now = clock_.bootNow();
    const auto starts = expectedStarts(ledger_, tickets, *history_, now, times_().keepFor);
    for (const Ticket ticket : tickets) {
        const auto start = starts.find(ticket);
        notedStarts_.try_emplace(
            ticket,
            NotedStart{now, start != starts.end() ? std::optional(start->second) : std::nullopt});
    }
}

void Queue::compareWithExpected(Ticket ticket) {
    const auto noted = notedStarts_.extract(ticket);
    if (noted && noted.mapped().start)
        history_->waited(*noted.mapped().start - noted.mapped().noted,
                         clock_.bootNow() - noted.mapped().noted);
}

} // namespace genv::core
