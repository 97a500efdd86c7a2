// SPDX-License-Identifier: LGPL-2.1-or-later
// Calls that wait for their turn: for devices, or for a lock. A call belongs to its connection, and
// leaves the line when that goes; when the service ends it keeps its place.
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
    /// Remembers a call until the result goes, which is to be when the call is answered or nobody
    /// works on it any more. When its connection leaves the call is given up, and `cancel` takes it
    /// out of its line where it stands in one.
    template <typename... Values>
    [[nodiscard]] std::shared_ptr<void> remember(const Reply<Values...>& reply,
                                                 std::function<void()> cancel = {}) {
        return remember({reply.caller().busName, [reply] { reply.drop(); }, std::move(cancel)});
    }

    /// A connection is gone, and what it waits for is cancelled.
    void left(const std::string& busName);

    /// The service ends. Nobody is answered, and who stands in a line stays there.
    void giveUp();

  private:
    struct Waiting {
        std::string busName;
        std::function<void()> drop;
        std::function<void()> cancel; ///< empty where there is nothing to cancel
    };
    std::shared_ptr<void> remember(Waiting call);

    std::map<std::uint64_t, Waiting> waiting_;
    std::uint64_t last_ = 0;
};

/// Waits for the devices of a request that the ledger has, then calls `granted`; a refusal becomes
/// the reply's.
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
