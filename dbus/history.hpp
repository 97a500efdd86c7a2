// SPDX-License-Identifier: LGPL-2.1-or-later
// ListEvents: what is asked for, who may ask for it, and the events as the bus carries them.
//
// A history may take many calls to read. Whoever was allowed to read somebody else's goes on
// reading that one, from where the last answer ended, without being asked for a password each
// time: an authorisation is for a read, of which these are the parts.
#pragma once

#include "dbus/context.hpp"
#include "dbus/options.hpp"

#include <sdbus-c++/sdbus-c++.h>

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace genv::dbus {

/// The events of an answer. They go onto the bus as aa{sv} without a variant's object for each
/// value, since there may be a hundred thousand.
struct EventRows {
    std::vector<core::HistoryRow> rows;
};
sdbus::Message& operator<<(sdbus::Message& message, const EventRows& events);

/// The result of the call that an object is processing, for events.
sdbus::Result<EventRows> eventRowsResult(const sdbus::IObject& object);

class Histories {
  public:
    explicit Histories(const Context& context) : context_(context) {}

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
    void read(const Reply<EventRows>& reply, const core::HistoryQuery& asked,
              core::HistoryQuery query);

    const Context& context_;
    std::unordered_map<std::string, Allowed> allowed_; ///< by connection
};

} // namespace genv::dbus
