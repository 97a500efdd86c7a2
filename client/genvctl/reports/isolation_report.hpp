// SPDX-License-Identifier: LGPL-2.1-or-later
// Shows the state of isolation and the refused opens, to people and as JSON.
#pragma once

#include "client/genvctl/reports/user_names.hpp"
#include "client/genvctl/terminal/json.hpp"
#include "client/genvctl/terminal/table.hpp"
#include "genv/isolation.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace genv::ctl {

/// Whether the kernel does everything that genvd.conf configures, which may be nothing.
bool isAsWanted(const IsolationState& state);

/// Returns a sentence about what the kernel does now.
std::string isolationSentence(const IsolationState& state);

/// The reason why the kernel does less than genvd.conf configures, and how to correct that. Both
/// are empty if it does everything.
struct IsolationTrouble {
    std::string what;
    std::string advice;
};
IsolationTrouble isolationTrouble(const IsolationState& state);

/// Returns a sentence about the DRM nodes of GPUs, which the kernel guards only while isolation is
/// in force.
std::string renderNodesSentence(bool areGuarded, bool isInForce);

/// Returns the sentence, the GPUs, their DRM nodes and the problem, in lines.
std::string isolationText(const IsolationState& state);
Json isolationJson(const IsolationState& state);

/// Formats a time for the list.
using TimeTexts = std::function<std::string(Time time)>;

/// Kernels before Linux 6.1 do not report the process.
Table refusalTable(const std::vector<RefusedOpen>& refusals, const UserNames& user,
                   const TimeTexts& time);
Json refusalJson(const std::vector<RefusedOpen>& refusals, const UserNames& user);

} // namespace genv::ctl
