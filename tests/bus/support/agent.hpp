// SPDX-License-Identifier: LGPL-2.1-or-later
// A polkit authentication agent for this process. It answers as a person with an administrator's
// password would.
#pragma once

#include "tests/bus/support/client.hpp"

#include <string>
#include <vector>

namespace genv::tests {

class Agent {
  public:
    /// The text that the agent was asked to show.
    struct Prompt {
        std::string action;
        std::string message;
        std::string cookie;
        Message request;
    };

    /// Registers with polkitd for all clients of this process.
    Agent();
    Agent(const Agent&) = delete;
    Agent& operator=(const Agent&) = delete;
    ~Agent();

    /// Gives the password, or refuses to.
    void answer(bool yes);

    /// Waits on both connections.
    void processUntil(Client& client, const std::function<bool()>& condition, const char* what);

    std::vector<Prompt> prompts;
    int canceled = 0;

  private:
    void begin(sd_bus_message* message);

    Client client_{root};
    Slot object_;
};

} // namespace genv::tests
