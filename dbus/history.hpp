// SPDX-License-Identifier: LGPL-2.1-or-later
// ListEvents: what is asked for, and who may ask for it.
//
// A history may take many calls to read. Whoever was allowed to read somebody else's goes on
// reading that one, from where the last answer ended, without being asked for a password each
// time: an authorisation is for a read, of which these are the parts.
#pragma once

#include "dbus/context.hpp"
#include "dbus/event_rows.hpp"
#include "dbus/options.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace genv::dbus {

class Histories {
  public:
    /// All outlive this.
    Histories(const Machine& machine, const Calls& calls, const core::Clock& clock)
        : machine_(machine), calls_(calls), clock_(clock) {}

    /// Answers ListEvents. Throws core::Error for what cannot be asked for.
    void list(const Reply<EventRows>& reply, std::uint64_t since, std::uint64_t until,
              VariantMap filter);

    /// A connection is gone, and so is what it was allowed to go on with.
    void left(const std::string& busName) { allowed_.erase(busName); }

  private:
    /// A read of somebody else's history, as it was asked for, how far it may go, and where it
    /// ended so far.
    struct Allowed {
        core::HistoryQuery asked;
        core::WallTime until;
        std::string cursor;
    };

    [[nodiscard]] std::optional<core::WallTime> allowedUntil(const std::string& busName,
                                                             const core::HistoryQuery& asked) const;
    void pass(const Reply<EventRows>& reply, const core::HistoryQuery& asked,
              core::HistoryQuery query);
    void ask(const Reply<EventRows>& reply, const policy::Target& target,
             const core::HistoryQuery& asked, const core::HistoryQuery& query);
    void read(const Reply<EventRows>& reply, const core::HistoryQuery& asked,
              core::HistoryQuery query);

    const Machine& machine_;
    const Calls& calls_;
    const core::Clock& clock_;
    std::unordered_map<std::string, Allowed> allowed_; ///< by connection
};

} // namespace genv::dbus
