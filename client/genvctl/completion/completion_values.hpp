// SPDX-License-Identifier: LGPL-2.1-or-later
// Completes names of environments, devices and users that exist now. These functions run while the
// user types, so they report no errors, wait at most one second, and start no service. Commands use
// libgenv, which does the opposite in each case.
#pragma once

#include "client/genvctl/completion/completion.hpp"

namespace genv::ctl {

/// Returns the values of a kind. Empty if the service is not running or does not reply in time.
std::vector<Candidate> liveValues(ValueKind kind);

/// The same for a command line about another machine, which is not contacted.
std::vector<Candidate> valuesElsewhere(ValueKind kind);

} // namespace genv::ctl
