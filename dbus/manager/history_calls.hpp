// SPDX-License-Identifier: LGPL-2.1-or-later
// ListEvents: its filter and its authorization.
//
// Reading a history may take many calls. A caller who was authorized to read another user's history
// may continue that read, from the end of the last reply, without a new password prompt: one
// authorization covers all parts of a read.
#pragma once

#include "dbus/calls/bus_context.hpp"
#include "dbus/calls/call_options.hpp"
#include "dbus/manager/event_rows.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace genv::dbus {

class Histories {
  public:
    /// All referenced objects must outlive this one.
    Histories(const MachineParts& machine, const Calls& calls, const core::Clock& clock)
        : machine_(machine), calls_(calls), clock_(clock) {}

    /// Replies to ListEvents. Throws core::Error for invalid arguments.
    void list(const Reply<EventRows>& reply, std::uint64_t since, std::uint64_t until,
              VariantMap filter);

    /// Forgets the authorized reads of a closed connection.
    void onDisconnected(const std::string& busName) { allowed_.erase(busName); }

  private:
    /// An authorized read of another user's history: the original request, the end of its time
    /// range, and the position that it has reached.
    struct Allowed {
        core::HistoryFilter asked;
        core::WallTime until;
        std::string cursor;
    };

    [[nodiscard]] std::optional<core::WallTime>
    allowedUntil(const std::string& busName, const core::HistoryFilter& asked) const;
    void pass(const Reply<EventRows>& reply, const core::HistoryFilter& asked,
              core::HistoryFilter query);
    void ask(const Reply<EventRows>& reply, const policy::Target& target,
             const core::HistoryFilter& asked, const core::HistoryFilter& query);
    void read(const Reply<EventRows>& reply, const core::HistoryFilter& asked,
              core::HistoryFilter query);

    const MachineParts& machine_;
    const Calls& calls_;
    const core::Clock& clock_;
    std::unordered_map<std::string, Allowed> allowed_; ///< by connection
};

} // namespace genv::dbus
