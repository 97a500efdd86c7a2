// SPDX-License-Identifier: LGPL-2.1-or-later
// The environment that a process's variables name, and whether it is the caller's: for the programs
// of this room and the shims, which are no part of libgenv. Variables outlive environments and pass
// from one user to another (a shell that was left behind, sudo -E), and whoever may do more than
// the owner would then act on an environment that nobody meant.
#pragma once

#include "dbus/contract/names.hpp"
#include "genv/client.hpp"

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

namespace genv::client {

/// What the variables say; unverified.
struct NamedEnvironment {
    std::string id;
    std::string created; ///< the stamp: Created in microseconds since the epoch; empty without one

    friend bool operator==(const NamedEnvironment&, const NamedEnvironment&) = default;
};

/// What GENV_ENVIRONMENT_ID and GENV_ENVIRONMENT_CREATED say; nothing where the id is unset or
/// empty.
inline std::optional<NamedEnvironment> namedEnvironment() {
    const char* id = std::getenv("GENV_ENVIRONMENT_ID");
    const char* created = std::getenv("GENV_ENVIRONMENT_CREATED");
    if (id == nullptr || *id == '\0')
        return std::nullopt;
    return NamedEnvironment{id, created != nullptr ? created : ""};
}

/// The stamp of an environment that was created then, as GENV_ENVIRONMENT_CREATED carries it.
inline std::string stampOf(Time created) {
    return std::to_string(created.time_since_epoch().count());
}

/// What a named environment is to the caller.
enum class Standing {
    Own,
    Ended,    ///< also where another environment has its id by now
    Anothers, ///< another user's
};

/// What an Environment, or an EnvironmentEntry, that has the named id is to a user.
template <typename AnEnvironment>
Standing standingOf(const NamedEnvironment& named, const AnEnvironment& environment,
                    std::uint32_t caller) {
    if (!named.created.empty() && named.created != stampOf(environment.created))
        return Standing::Ended;
    return environment.uid == caller ? Standing::Own : Standing::Anothers;
}

/// A named environment as the service knows it.
struct IdentifiedEnvironment {
    Standing standing = Standing::Ended;
    std::optional<Environment> environment; ///< unless it has ended
};

/// Asks the service, and the bus who the caller is. Throws Error.
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
