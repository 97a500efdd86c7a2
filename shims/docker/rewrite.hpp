// SPDX-License-Identifier: LGPL-2.1-or-later
// A command line of docker or podman as it is to be inside an environment: GPUs are the attached
// ones, and the container is told its environment and when that was created, by which the service
// recognises it: by the variables' names, so that the engine takes the values that this process
// has. Everything else stays byte for byte, what a newer engine may have come to understand
// included.
//
// An option that is not known here ends what can be read, since nobody can say whether the next
// word is its value. What follows is then passed on unread, unless a word of it may ask for GPUs:
// that is refused, because passing it on could give the container all of them.
#pragma once

#include "shims/docker/command_line.hpp"
#include "shims/docker/gpu_request.hpp"

#include <functional>
#include <optional>
#include <string>

namespace genv::shims {

enum class Engine { Docker, Podman };

/// What a rewriting depends on beside the words themselves.
struct Surroundings {
    Engine engine = Engine::Docker;
    std::string environment; ///< its id
    /// What is attached to it; called only where GPUs are asked for. May throw.
    std::function<View()> devices;
    /// Whether a file of variables (--env-file) has GENV_ENVIRONMENT_ID.
    std::function<bool(const std::string& file)> namesEnvironment;
    /// The user (UID:GID) of a container with GPUs if the command line has no --user; unset: the
    /// image's. Called only where docker is asked for GPUs. May throw.
    std::function<std::optional<std::string>()> user{};
};

/// The arguments, without the program's name, as they are to be passed on. Throws Refusal, and
/// whatever `devices` and `user` throw.
Words rewrite(const Words& arguments, const Surroundings& surroundings);

} // namespace genv::shims
