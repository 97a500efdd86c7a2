// SPDX-License-Identifier: LGPL-2.1-or-later
// Runs the user's shell with an active environment in place of genvctl, as "activate" does for a
// running shell. The shell itself joins the environment after its start files. The start files
// therefore see no variables of the environment, and "genv deactivate" removes all of them.
#pragma once

#include <string>

namespace genv {
class Client;
}

namespace genv::ctl {

/// Returns the shell named by SHELL, else the one in the user database.
std::string ownShell();

struct LoginShell {
    std::string environment; ///< the id; this process is a root process of it
    bool noPrompt = false;   ///< do not change the prompt
    bool nvmlFilter = false;

    /// Replaces this process with ownShell() as an interactive shell with the start files of a
    /// login shell. A shell that genv does not support gets the variables only. Throws Failure and
    /// Error.
    [[noreturn]] void run(Client& client) const;
};

} // namespace genv::ctl
