// SPDX-License-Identifier: LGPL-2.1-or-later
// Converts the failure of another machine to the failure of a command.
#pragma once

#include "client/genvctl/common/exit_status.hpp"
#include "client/remote/ssh/session.hpp"

#include <vector>

namespace genv::ctl {

/// Returns the failure of a command that ends because of one host.
Failure hostFailed(const remote::Host& host, const remote::HostFailure& failure);
/// Returns how a command ends when no host answered: with the exit status that the failures have in
/// common, else 1.
Failure noHostAnswered(const std::vector<remote::HostFailure>& failures);

} // namespace genv::ctl
