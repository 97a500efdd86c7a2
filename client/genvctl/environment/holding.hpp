// SPDX-License-Identifier: LGPL-2.1-or-later
// Devices for a program that is elsewhere: an environment that lasts as long as the standard input
// of this process. It is how "remote" holds devices on another machine: when the connection is
// gone, sshd closes that input.
#pragma once

namespace genv::ctl {

class Context;
struct OwnEnvironmentOptions;

/// Starts an environment, prints {"environment": ID, "devices": [...], "process": PID} in one line
/// as soon as it has its devices, and returns when standard input ends or a signal says so. While
/// the devices are waited for, that gives the wait up. Throws Failure, also when the environment
/// ends, Error and Interrupted.
void holdEnvironment(Context& context, const OwnEnvironmentOptions& options);

} // namespace genv::ctl
