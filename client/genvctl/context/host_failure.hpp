// SPDX-License-Identifier: LGPL-2.1-or-later
// These functions turn the failure of another machine into the failure of a command.
#pragma once

#include "client/genvctl/common/exit_status.hpp"
#include "client/remote/ssh/session.hpp"

#include <vector>

namespace genv::ctl {

/// Returns how a command ends when the failure of one host ends it.
Failure hostFailed(const remote::Host& host, const remote::HostFailure& failure);
/// Returns how a command ends when no host answered: with the exit status that the failures have in
/// common, else 1.
Failure noHostAnswered(const std::vector<remote::HostFailure>& failures);

} // namespace genv::ctl
