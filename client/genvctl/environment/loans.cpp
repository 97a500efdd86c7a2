// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/environment/loans.hpp"

#include "client/genvctl/terminal/terminal_text.hpp"
#include "core/base/bytes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace genv::ctl {

namespace {

ParkingState parkingOf(const LoanStates& states, const std::string& id) {
    const auto found = states.parking.find(id);
    return found == states.parking.end() ? ParkingState{} : found->second;
}

std::vector<core::TakenFrom> takenFrom(const Taking& taking) {
    std::vector<core::TakenFrom> victims;
    for (const TakenEnvironment& each : taking.environments)
        victims.push_back({each.id, each.name, shown(each.user), core::Bytes{each.bytesToMove}});
    return victims;
}

LoanStates statesOf(const std::vector<Environment>& environments) {
    LoanStates states;
    for (const Environment& environment : environments) {
        if (environment.preemptible != "no")
            states.preemptible.insert(environment.id);
        if (environment.parking.state != "active")
            states.parking.emplace(environment.id, environment.parking);
    }
    return states;
}

void addExpected(LoanStates& states, const std::vector<WaitingRequest>& queue) {
    for (const WaitingRequest& request : queue) {
        const QueueDescription& known = request.description;
        if (request.resumes && known.expectedStart)
            states.expected.emplace(known.entry.environment, *known.expectedStart);
    }
}

} // namespace

LoanStates loanStates(Client& client, const std::vector<Environment>& environments) {
    LoanStates states = statesOf(environments);
    const bool isExpected = std::ranges::any_of(states.parking, [](const auto& each) {
        return core::ParkedWhy{each.second.reason}.resumesByItself();
    });
    if (isExpected)
        addExpected(states, client.queue());
    return states;
}

LoanStates loansIn(Client& client, const std::vector<WaitingRequest>& queue) {
    if (std::ranges::none_of(queue, &WaitingRequest::resumes))
        return {};
    LoanStates states = statesOf(client.machine().environments);
    addExpected(states, queue);
    return states;
}

core::ParkedWhy whyParked(const LoanStates& states, const std::string& id) {
    const ParkingState parking = parkingOf(states, id);
    core::ParkedWhy why{parking.reason, "", shown(parking.takenBy)};
    if (const auto expected = states.expected.find(id); expected != states.expected.end())
        why.expected = expected->second;
    return why;
}

std::string parkingNote(const LoanStates& states, const std::string& id, Time now) {
    const ParkingState parking = parkingOf(states, id);
    if (parking.state == "active")
        return "";
    const core::ParkedWhy why = whyParked(states, id);
    std::string note = parking.state;
    if (parking.state != "resuming" && !why.taker.empty())
        note += " for " + why.taker;
    if (parking.state == "parked" && why.expected)
        note += ", back about " + shortTimestamp(*why.expected, now);
    return note;
}

bool isOnLoan(const LoanStates& states, const std::string& id) {
    return states.preemptible.contains(id) && !states.parking.contains(id);
}

std::string takingText(const Taking& taking, std::chrono::steady_clock::duration ago) {
    const auto estimate =
        std::max(std::chrono::ceil<std::chrono::seconds>(taking.estimate), std::chrono::seconds{1});
    return core::describeTaking(takenFrom(taking), taking.devices,
                                std::chrono::ceil<std::chrono::seconds>(estimate - ago));
}

std::string failedTakingText(const Taking& taking, const std::string& problem) {
    return core::describeTakingFailed(takenFrom(taking), problem);
}

} // namespace genv::ctl
