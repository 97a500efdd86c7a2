// SPDX-License-Identifier: LGPL-2.1-or-later
// The environment that a program is in: the one its variables name, and in a Slurm job the one that
// the service finds. A job may have no variables of genv's (env -i, a process that came by SSH), or
// those of the shell that it was submitted from.
#pragma once

#include "client/named_environment.hpp"

#include <optional>
#include <string>

namespace genv::shims {

/// What a program can tell of its environment by itself.
struct Whereabouts {
    std::optional<client::NamedEnvironment> named; ///< by variables
    std::optional<std::string> job; ///< id of the environment of the job in whose group it is

    [[nodiscard]] bool mayBeInside() const { return named || job; }
};

/// Reads the variables and this process's control group.
Whereabouts readWhereabouts();

/// The environment that this process is in; nothing where it is in none. Asks the service only in a
/// job. Throws genv::Error.
std::optional<client::NamedEnvironment> ownEnvironment(Client& client, const Whereabouts& where);

} // namespace genv::shims
