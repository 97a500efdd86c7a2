// SPDX-License-Identifier: LGPL-2.1-or-later
// Calls that wait for their turn: for devices, or for a lock. A call belongs to its connection, and
// leaves the line when that goes.
#pragma once

#include "core/queue.hpp"
#include "dbus/reply.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace genv::dbus {

class WaitingCalls {
  public:
    /// Remembers a call of a connection until the result goes; `cancel` takes it out of its line
    /// when the connection leaves.
    [[nodiscard]] std::shared_ptr<void> remember(const std::string& busName,
                                                 std::function<void()> cancel);

    /// A call that will wait, but asks others first: it goes no further once its connection left.
    /// Until the result goes, which is to be when the call waits or is answered.
    template <typename... Values>
    [[nodiscard]] std::shared_ptr<void> dropWhenLeft(const Reply<Values...>& reply) {
        return remember(reply.caller().busName, [reply] { reply.drop(); });
    }

    /// A connection is gone, and what it waits for is cancelled.
    void left(const std::string& busName);

  private:
    struct Waiting {
        std::string busName;
        std::function<void()> cancel;
    };
    std::map<std::uint64_t, Waiting> waiting_;
    std::uint64_t last_ = 0;
};

/// Waits for the devices of a request that the ledger has, then calls `granted`; a refusal becomes
/// the reply's.
template <typename... Values, typename Granted>
void awaitDevices(core::Queue& queue, WaitingCalls& calls, const Reply<Values...>& reply,
                  core::Queue::Ticket ticket, core::UserInfo owner,
                  std::optional<std::chrono::milliseconds> timeout, Granted granted) {
    const auto remembered = calls.remember(reply.caller().busName, [&queue, reply, ticket] {
        reply.drop();
        queue.cancel(ticket);
    });
    queue.await(ticket, std::move(owner), timeout,
                reply.later([remembered, granted = std::move(granted)](
                                const std::optional<core::Error>& refusal) {
                    if (refusal)
                        throw core::Error(*refusal);
                    granted();
                }));
}

} // namespace genv::dbus
