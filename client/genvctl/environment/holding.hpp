// SPDX-License-Identifier: LGPL-2.1-or-later
// Holds devices for a program on another machine, in an environment that lasts as long as this
// process's standard input. "remote" uses it to hold devices: when the connection is lost, sshd
// closes the input.
#pragma once

namespace genv::ctl {

class Context;
struct OwnEnvironmentOptions;

/// Starts an environment and prints {"environment": ID, "devices": [...], "process": PID} on one
/// line as soon as it has its devices. Returns when standard input ends or a signal arrives; while
/// the request is in the queue, this cancels it. Throws Failure, also if the environment ends,
/// Error and Interrupted.
void holdEnvironment(Context& context, const OwnEnvironmentOptions& options);

} // namespace genv::ctl
