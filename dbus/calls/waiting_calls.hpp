// SPDX-License-Identifier: LGPL-2.1-or-later
// Calls that wait for devices or for a lock. A call belongs to its connection, and leaves the queue
// when the connection closes. When the service ends, the call keeps its position.
#pragma once

#include "core/queue/queue.hpp"
#include "dbus/calls/reply.hpp"

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
    /// Tracks a call until the result is destroyed, which must happen when the call gets its reply
    /// or is no longer processed. If its connection closes, the call is abandoned, and `cancel`
    /// removes it from its queue, if any.
    template <typename... Values>
    [[nodiscard]] std::shared_ptr<void> remember(const Reply<Values...>& reply,
                                                 std::function<void()> cancel = {}) {
        return remember({reply.caller().busName, [reply] { reply.drop(); }, std::move(cancel)});
    }

    /// Whether calls of a connection wait.
    [[nodiscard]] bool has(const std::string& busName) const;
    /// Cancels the waiting calls of a closed connection.
    void onDisconnected(const std::string& busName);

    /// Handles the end of the service. No replies are sent, and the calls keep their positions in
    /// the queue.
    void giveUp();

  private:
    struct Waiting {
        std::string busName;
        std::function<void()> drop;
        std::function<void()> cancel; ///< empty if there is nothing to cancel
    };
    std::shared_ptr<void> remember(Waiting call);

    std::map<std::uint64_t, Waiting> waiting_;
    std::uint64_t last_ = 0;
};

/// Waits until a request in the ledger gets its devices, then calls `granted`. An error becomes the
/// error reply.
template <typename... Values, typename Granted>
void awaitDevices(core::Queue& queue, WaitingCalls& calls, const Reply<Values...>& reply,
                  core::Queue::Ticket ticket, const core::UserInfo& owner,
                  std::optional<std::chrono::milliseconds> timeout, Granted granted) {
    const auto remembered = calls.remember(reply, [&queue, ticket] { queue.cancel(ticket); });
    queue.await(ticket, owner, timeout,
                reply.later([remembered, granted = std::move(granted)](
                                const std::optional<core::Error>& refusal) {
                    if (refusal)
                        throw core::Error(*refusal);
                    granted();
                }));
}

} // namespace genv::dbus
