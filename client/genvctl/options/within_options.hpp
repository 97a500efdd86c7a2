// SPDX-License-Identifier: LGPL-2.1-or-later
// The options of the commands that start an environment: within which other one, if any.
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
    std::string within; ///< the id, or `ownEnvironment`; empty: not given
    bool none = false;

    /// What --within without an id stands for: no id looks like it.
    static constexpr const char* ownEnvironment = "*";

    /// Adds --within and --no-within. This object must outlive the parsing.
    void addTo(CLI::App& command);
    /// Whether an environment was asked for.
    [[nodiscard]] bool isGiven() const { return !within.empty(); }
    /// Those that were given, as words of a command line.
    [[nodiscard]] std::vector<std::string> words() const;
    /// The environment that a new one of this process starts within, or nothing: the one that was
    /// named; with no name the one that this process is in; in a Slurm job the job's. An
    /// environment that is within another one itself stands for that one. Throws Failure and Error.
    [[nodiscard]] std::optional<std::string> choose(Client& client) const;
};

} // namespace genv::ctl
