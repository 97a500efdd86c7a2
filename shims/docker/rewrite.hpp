// SPDX-License-Identifier: LGPL-2.1-or-later
// Rewrites a command line of docker or podman for use inside an environment. Requests for GPUs
// become requests for attached GPUs. The container receives the variables with the environment's id
// and start time, by which the service recognises it. Only the variables' names are passed, so the
// engine takes the values from this process. Everything else stays unchanged byte for byte,
// including options that only newer engines support.
//
// Reading stops at an unknown option, because the next word may or may not be its value. The rest
// is passed on unread, unless one of its words may request GPUs. In that case the command is
// refused, because passing it on could give all GPUs to the container.
#pragma once

#include "shims/docker/engine_command_line.hpp"
#include "shims/docker/gpu_request.hpp"

#include <functional>
#include <optional>
#include <string>

namespace genv::shims {

enum class ContainerEngine { Docker, Podman };

/// The facts that a rewriting needs besides the command line.
struct RewriteFacts {
    ContainerEngine engine = ContainerEngine::Docker;
    std::string environment; ///< its id
    /// Returns the attached devices. Called only if GPUs are requested. May throw.
    std::function<View()> devices;
    /// Returns whether a file of variables (--env-file) sets GENV_ENVIRONMENT_ID.
    std::function<bool(const std::string& file)> namesEnvironment;
    /// Returns the user (UID:GID) for a container with GPUs if the command line has no --user;
    /// unset: the image's user. Called only if docker is asked for GPUs. May throw.
    std::function<std::optional<std::string>()> user{};
};

/// Returns the arguments to pass on, without the program's name. Throws RefusedRequest, and
/// everything that `devices` and `user` throw.
Words rewrite(const Words& arguments, const RewriteFacts& surroundings);

} // namespace genv::shims
