// SPDX-License-Identifier: LGPL-2.1-or-later
// Asks for an administrator's password on the terminal: polkit's own text agent, running as long as
// the object lives.
#pragma once

#include <sys/types.h>

namespace genv::ctl {

class PasswordAgent {
  public:
    /// Starts an agent for this process where a person sits at a terminal, and waits until polkit
    /// knows it. Where there is no terminal or no agent, it does nothing: a graphical session may
    /// have an agent of its own.
    PasswordAgent();
    PasswordAgent(const PasswordAgent&) = delete;
    PasswordAgent& operator=(const PasswordAgent&) = delete;
    ~PasswordAgent();

  private:
    pid_t process_ = -1;
};

} // namespace genv::ctl
