// SPDX-License-Identifier: LGPL-2.1-or-later
// A person's own shell with an environment active in it, in the place of genvctl: what "activate"
// does for a shell that runs already. The shell joins the environment itself, once it has read its
// start files, so those find no variable of the environment, and "genv deactivate" leaves nothing.
#pragma once

#include <string>

namespace genv {
class Client;
}

namespace genv::ctl {

/// The shell that SHELL names, else the one of the user database.
std::string ownShell();

struct LoginShell {
    std::string environment; ///< the id; this process is a root process of it
    bool noPrompt = false;   ///< the prompt stays as it is
    bool nvmlFilter = false;

    /// Becomes ownShell() as an interactive one with the start files of a login shell. One that
    /// there is no code for has the variables only. Throws Failure and Error.
    [[noreturn]] void run(Client& client) const;
};

} // namespace genv::ctl
