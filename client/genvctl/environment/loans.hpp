// SPDX-License-Identifier: LGPL-2.1-or-later
// Words about loans: which environments are preemptible, for whom they are parked, and when they
// are expected to go on.
#pragma once

#include "core/parking/parking_sentences.hpp"
#include "genv/client.hpp"

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace genv::ctl {

/// The environments that are parked, are being parked, or may be.
struct LoanStates {
    std::set<std::string> preemptible;           ///< ids
    std::map<std::string, ParkingState> parking; ///< of those that are not active, by id
    std::map<std::string, Time> expected;        ///< when one is expected to go on by itself
};

/// Returns those among the environments. Asks for the queue only if one waits in it to go on.
LoanStates loanStates(Client& client, const std::vector<Environment>& environments);

/// The same, without a request if nothing in the queue is parked.
LoanStates loansIn(Client& client, const std::vector<WaitingRequest>& queue);

/// Returns why an environment is parked, with names that can be shown.
core::ParkedWhy whyParked(const LoanStates& states, const std::string& id);

/// Returns a note on an environment for a table: "parked for bob, back about 14:30", or "parking".
/// Empty for an active environment.
std::string parkingNote(const LoanStates& states, const std::string& id, Time now);

/// Whether an active environment is preemptible.
bool isOnLoan(const LoanStates& states, const std::string& id);

/// Returns the sentence about the environments that are parked for a request, which began `ago`.
std::string takingText(const Taking& taking, std::chrono::steady_clock::duration ago = {});
/// Returns the sentence about a taking that failed. `problem` may be empty.
std::string failedTakingText(const Taking& taking, const std::string& problem);

} // namespace genv::ctl
