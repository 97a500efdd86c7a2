// SPDX-License-Identifier: LGPL-2.1-or-later
// Reads the environment named by a process's variables, and checks whether it belongs to the
// caller. For the programs below client/ and the shims, which are not part of libgenv. Variables
// can outlive their environment and can be passed from one user to another (a shell that was left
// open, sudo -E). Without the check, a caller with more rights than the owner would act on an
// environment by mistake.
#pragma once

#include "dbus/contract/names.hpp"
#include "genv/client.hpp"

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

namespace genv::client {

/// The content of the variables, not verified.
struct NamedEnvironment {
    std::string id;
    std::string created; ///< the time stamp: Created in microseconds since the epoch; empty if
                         ///< there is none

    friend bool operator==(const NamedEnvironment&, const NamedEnvironment&) = default;
};

/// Returns the values of GENV_ENVIRONMENT_ID and GENV_ENVIRONMENT_CREATED, or nothing if the id is
/// unset or empty.
inline std::optional<NamedEnvironment> namedEnvironment() {
    const char* id = std::getenv("GENV_ENVIRONMENT_ID");
    const char* created = std::getenv("GENV_ENVIRONMENT_CREATED");
    if (id == nullptr || *id == '\0')
        return std::nullopt;
    return NamedEnvironment{id, created != nullptr ? created : ""};
}

/// Returns the time stamp of an environment created at this time, in the form of
/// GENV_ENVIRONMENT_CREATED.
inline std::string stampOf(Time created) {
    return std::to_string(created.time_since_epoch().count());
}

/// The relation of a named environment to the caller.
enum class Standing {
    Own,
    Ended,    ///< also if another environment has its id now
    Anothers, ///< it belongs to another user
};

/// Returns the relation of an Environment, or an EnvironmentEntry, with the named id to a user.
template <typename AnEnvironment>
Standing standingOf(const NamedEnvironment& named, const AnEnvironment& environment,
                    std::uint32_t caller) {
    if (!named.created.empty() && named.created != stampOf(environment.created))
        return Standing::Ended;
    return environment.uid == caller ? Standing::Own : Standing::Anothers;
}

/// A named environment and its state in the service.
struct IdentifiedEnvironment {
    Standing standing = Standing::Ended;
    std::optional<Environment> environment; ///< unless it has ended
};

/// Requests the environment from the service, and the caller's uid from the bus. Throws Error.
inline IdentifiedEnvironment identify(Client& client, const NamedEnvironment& named) {
    try {
        Environment environment = client.environment(named.id);
        const Standing standing = standingOf(named, environment, client.uid());
        if (standing != Standing::Ended)
            return {standing, std::move(environment)};
    } catch (const Error& error) {
        if (error.name() != dbus::contract::error::noSuchEnvironment)
            throw;
    }
    return {};
}

} // namespace genv::client
