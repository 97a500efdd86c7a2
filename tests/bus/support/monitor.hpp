// SPDX-License-Identifier: LGPL-2.1-or-later
// Watches the messages of other connections on the private bus.
#pragma once

#include "tests/bus/support/client.hpp"

#include <memory>
#include <string>
#include <vector>

namespace genv::tests {

class Monitor {
  public:
    /// Sees every message from now on that matches the rule. See BecomeMonitor in the D-Bus
    /// Specification.
    explicit Monitor(const char* rule);

    /// Processes messages up to the next call of this member. Returns the members of the calls
    /// before it. Fails after 30 s.
    std::vector<std::string> awaitCall(const std::string& member);

  private:
    static void requireGood(int result, const char* what);

    std::unique_ptr<sd_bus, Unref> bus_;
};

} // namespace genv::tests
