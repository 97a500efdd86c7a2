// SPDX-License-Identifier: LGPL-2.1-or-later
// A shell or a command on whichever machine has the devices for it. They are taken first, over a
// connection of their own, so that a race for them is lost before anything has been started; the
// shell or the command then takes over what is held.
#pragma once

#include "client/genvctl/environment/own_environment.hpp"
#include "client/genvctl/remote/hosts.hpp"

#include <optional>
#include <string>
#include <vector>

namespace genv::ctl {

/// What is to run on a host, and with what.
struct RemoteRun {
    OwnEnvironmentOptions wanted;
    std::string strategy = "most-free";
    std::optional<std::string> id;    ///< an environment that is joined there; only with one host
    std::vector<std::string> command; ///< empty: the person's own shell, with a terminal
    bool noPrompt = false;
    bool staysAwake = false; ///< see runInForeground()
};

/// Runs it on the best of the hosts that can do it, and ends the process as that ended; when it was
/// a success, returns. Throws Failure, Error and Interrupted.
void runOnBest(const HostOptions& options, const std::vector<remote::Host>& hosts,
               const RemoteRun& run);

/// The same on the host of -H.
void runRemotely(const Context& context, RemoteRun run);

} // namespace genv::ctl
