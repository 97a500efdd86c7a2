// SPDX-License-Identifier: LGPL-2.1-or-later
// The state of isolation and the refused opens, for people and as JSON.
#pragma once

#include "client/genvctl/reports/user_names.hpp"
#include "client/genvctl/terminal/json.hpp"
#include "client/genvctl/terminal/table.hpp"
#include "genv/isolation.hpp"

#include <functional>
#include <string>
#include <vector>

namespace genv::ctl {

/// Whether the kernel does all that genvd.conf asks for, which may be nothing.
bool isAsWanted(const IsolationState& state);

/// What the kernel does now, as a sentence.
std::string isolationSentence(const IsolationState& state);

/// Why the kernel does less than genvd.conf asks for, and how to correct that; both are empty where
/// it does all of it.
struct IsolationTrouble {
    std::string what;
    std::string advice;
};
IsolationTrouble isolationTrouble(const IsolationState& state);

/// The sentence, each GPU and the trouble, in lines.
std::string isolationText(const IsolationState& state);
Json isolationJson(const IsolationState& state);

/// A moment as the list shows it.
using TimeTexts = std::function<std::string(Time time)>;

/// Kernels before Linux 6.1 do not tell the process.
Table refusalTable(const std::vector<RefusedOpen>& refusals, const UserNames& user,
                   const TimeTexts& time);
Json refusalJson(const std::vector<RefusedOpen>& refusals, const UserNames& user);

} // namespace genv::ctl
