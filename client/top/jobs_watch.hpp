// SPDX-License-Identifier: LGPL-2.1-or-later
// The jobs of the user, in a thread with a connection of its own to the user's bus. It never starts
// genv-jobs, and wakes up only for its signals.
#pragma once

#include "client/top/mailbox.hpp"

namespace genv::top {

/// Posts the user's jobs after each change, at most once a second, until `stop` is readable. No
/// jobs are posted while genv-jobs does not run. The variable DBUS_SESSION_BUS_ADDRESS names the
/// bus; returns if that cannot be reached, or ends.
void watchJobs(Mailbox& mailbox, int stop);

} // namespace genv::top
