// SPDX-License-Identifier: LGPL-2.1-or-later
// Runs polkit's own text agent during the lifetime of the object, which asks for an administrator's
// password on the terminal.
#pragma once

#include <sys/types.h>

namespace genv::ctl {

class PasswordAgent {
  public:
    /// Starts an agent for this process if a user is at the terminal, and waits until polkit has
    /// registered it. Does nothing if there is no terminal or no agent: a graphical session may
    /// have its own agent.
    PasswordAgent();
    PasswordAgent(const PasswordAgent&) = delete;
    PasswordAgent& operator=(const PasswordAgent&) = delete;
    ~PasswordAgent();

  private:
    pid_t process_ = -1;
};

} // namespace genv::ctl
