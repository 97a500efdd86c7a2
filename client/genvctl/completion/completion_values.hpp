// SPDX-License-Identifier: LGPL-2.1-or-later
// What there is now that a command line may name: environments, devices, users. Asked for while
// somebody types, so it is silent whatever fails, waits a second at most, and starts no service;
// libgenv, which commands use, rightly does the opposite of each.
#pragma once

#include "client/genvctl/completion/completion.hpp"

namespace genv::ctl {

/// The values of a kind; none where the service does not run or does not answer in time.
std::vector<Candidate> liveValues(ValueKind kind);

/// The same where the command line is about another machine: nobody waits for that one.
std::vector<Candidate> valuesElsewhere(ValueKind kind);

} // namespace genv::ctl
