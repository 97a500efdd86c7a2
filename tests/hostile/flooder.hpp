// SPDX-License-Identifier: LGPL-2.1-or-later
// A process of a user that calls the service as fast as it can on many connections at once, and
// counts the answers.
#pragma once

#include "tests/bus/support/client.hpp"

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace genv::tests {

struct FloodOptions {
    core::Uid uid = 0;
    std::size_t connections = 1;
    std::size_t inFlight = 1; ///< calls of each connection; at most as many as the bus permits
    std::size_t calls = 0;    ///< of each connection, which then closes; 0 = no limit
    bool again = false;       ///< when all are closed, new connections begin
    /// The call that is repeated.
    std::function<Message(Client&)> call;
};

class Flooder {
  public:
    struct Counts {
        std::atomic<std::uint64_t> sent{0};
        std::atomic<std::uint64_t> served{0};
        std::atomic<std::uint64_t> refusedByService{0}; ///< LimitsExceeded from the service
        std::atomic<std::uint64_t> refusedByBus{0};     ///< these are not repeated
        std::atomic<std::uint64_t> refusedOtherwise{0};
        std::atomic<bool> isConnected{false};
        std::atomic<bool> isOver{false}; ///< all calls are answered
    };

    /// Starts the flood, which lasts until this object is destroyed.
    explicit Flooder(const FloodOptions& options);
    ~Flooder();
    Flooder(const Flooder&) = delete;
    Flooder& operator=(const Flooder&) = delete;

    [[nodiscard]] const Counts& counts() const { return *counts_; }

  private:
    Counts* counts_; ///< in shared memory
    pid_t pid_ = -1;
};

} // namespace genv::tests
