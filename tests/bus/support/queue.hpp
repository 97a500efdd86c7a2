// SPDX-License-Identifier: LGPL-2.1-or-later
// The queue as a test sees it, and the notices and reasons that arrive on the bus.
#pragma once

#include "tests/bus/support/client.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace genv::tests {

/// A row of ListQueue.
struct Waiting {
    std::uint64_t ticket = 0;
    std::string environment;
    core::Uid uid = 0;
    std::uint32_t count = 0;
    std::uint64_t since = 0;
    friend bool operator==(const Waiting&, const Waiting&) = default;
};
std::vector<Waiting> queueOf(Client& client);

/// Returns the reply of DescribeQueue; numbers and lists as text.
using Description = std::map<std::string, std::string>;
std::vector<Description> describedQueue(Client& client);

/// Returns the waiting environments, first come first.
std::vector<std::string> waitingIn(Client& client);

/// Returns the holder of each device. A device with two holders fails the test.
std::map<std::uint32_t, std::string> holdersOf(Client& client);

/// Records the signals to environments and their owners.
class RecordedSignals {
  public:
    explicit RecordedSignals(Client& client);

    /// The reasons in Detached signals, as "ENVIRONMENT DEVICE REASON".
    std::vector<std::string> detached;
    struct Notice {
        core::Uid uid = 0;
        std::string kind;
        std::string environment;
        std::map<std::string, std::string> details; ///< numbers, lists and strings as text
    };
    std::vector<Notice> notices;
    [[nodiscard]] const Notice* notice(const std::string& kind) const;
    /// The ids in EnvironmentRemoved signals.
    std::vector<std::string> removed;
    /// The number of changes of the queue.
    int queueChanges = 0;

  private:
    void onSignal(sd_bus_message* message);
    Slot slot_;
};

} // namespace genv::tests
