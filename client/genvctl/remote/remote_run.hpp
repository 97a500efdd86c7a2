// SPDX-License-Identifier: LGPL-2.1-or-later
// Runs a shell or a command on any machine that has the devices for it. The devices are attached
// first, over a separate connection, so that a failed request ends before anything has been
// started. The shell or command then takes over the environment.
#pragma once

#include "client/genvctl/environment/own_environment.hpp"
#include "client/genvctl/remote/remote_hosts.hpp"

#include <optional>
#include <string>
#include <vector>

namespace genv::ctl {

/// What to run on a host, and with which options.
struct RemoteRun {
    OwnEnvironmentOptions wanted;
    std::string strategy = "most-free";
    std::optional<std::string> id;    ///< an environment to join there; only with a single host
    std::vector<std::string> command; ///< empty for the user's own shell with a terminal
    bool noPrompt = false;
    bool staysAwake = false; ///< see runInForeground()
};

/// Runs it on the best of the suitable hosts. Ends the process with the same status as the command,
/// or returns if that was a success. Throws Failure, Error and Interrupted.
void runOnBest(const HostOptions& options, const std::vector<remote::Host>& hosts,
               const RemoteRun& run);

/// The same on the host given by -H.
void runRemotely(const Context& context, RemoteRun run);

} // namespace genv::ctl
