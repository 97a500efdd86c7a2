// SPDX-License-Identifier: LGPL-2.1-or-later
// Finds the environment of a program: the one that its variables name or, in a Slurm job, the one
// that the service determines. A job may have no variables of genv (env -i, a process started
// through SSH), or those of the shell that submitted it.
#pragma once

#include "client/named_environment.hpp"

#include <optional>
#include <string>

namespace genv::shims {

/// The facts that a program can find out about its environment by itself.
struct Whereabouts {
    std::optional<client::NamedEnvironment> named; ///< by variables
    std::optional<std::string> job; ///< number or SLUID of the Slurm job, by control group

    [[nodiscard]] bool mayBeInside() const { return named || job; }
};

/// Reads the variables and this process's control group.
Whereabouts readWhereabouts();

/// Returns the environment of this process, or nothing if it is in none. Queries the service only
/// in a job. Throws genv::Error.
std::optional<client::NamedEnvironment> ownEnvironment(Client& client, const Whereabouts& where);

} // namespace genv::shims
