// SPDX-License-Identifier: LGPL-2.1-or-later
// The options of commands that start an environment: the parent environment, if any.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace genv {
class Client;
}

namespace genv::ctl {

struct WithinOptions {
    std::string within; ///< the id, or `ownEnvironment`; empty if not given
    bool none = false;

    /// The value of --within without an id. No id has this form.
    static constexpr const char* ownEnvironment = "*";

    /// Adds --within and --no-within. This object must outlive the parsing.
    void addTo(CLI::App& command);
    /// Whether a parent was requested.
    [[nodiscard]] bool isGiven() const { return !within.empty(); }
    /// Returns the given options as words of a command line.
    [[nodiscard]] std::vector<std::string> words() const;
    /// Returns the parent of a new environment of this process, or nothing. This is the named
    /// environment, or the environment of this process if no id is given, or the job's in a Slurm
    /// job. If the process's environment is nested itself, its parent is returned. Throws Failure
    /// and Error.
    [[nodiscard]] std::optional<std::string> choose(Client& client) const;
};

} // namespace genv::ctl
