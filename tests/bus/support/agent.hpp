// SPDX-License-Identifier: LGPL-2.1-or-later
// A polkit authentication agent for this process: what a person with an administrator's password
// would answer.
#pragma once

#include "tests/bus/support/client.hpp"

#include <string>
#include <vector>

namespace genv::tests {

class Agent {
  public:
    /// What the person was shown.
    struct Prompt {
        std::string action;
        std::string message;
        std::string cookie;
        Message request;
    };

    /// Registers with polkitd for every client of this process.
    Agent();
    Agent(const Agent&) = delete;
    Agent& operator=(const Agent&) = delete;
    ~Agent();

    /// Gives the password, or not.
    void answer(bool yes);

    /// Waits on both connections.
    void processUntil(Client& client, const std::function<bool()>& condition, const char* what);

    std::vector<Prompt> prompts;
    int cancelled = 0;

  private:
    void begin(sd_bus_message* message);

    Client client_{root};
    Slot object_;
};

} // namespace genv::tests
