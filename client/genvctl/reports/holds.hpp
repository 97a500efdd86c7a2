// SPDX-License-Identifier: LGPL-2.1-or-later
// Converts events to attachments: their beginning and end, and the times in which they were used.
#pragma once

#include "client/genvctl/reports/usage_report.hpp"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace genv::ctl {

enum class Use { Unknown, Idle, Used };

/// A period in which the use of an attachment did not change.
struct UseSpan {
    Time begin;
    Time end;
    Use use = Use::Unknown;
};

/// An attachment of a device to an environment. Its spans are consecutive, from its beginning to
/// its end.
struct Hold {
    std::string environment;
    std::string uuid;
    std::optional<std::uint32_t> uid;
    std::string user;
    std::vector<UseSpan> spans;

    [[nodiscard]] Time begin() const { return spans.front().begin; }
    [[nodiscard]] Time end() const { return spans.back().end; }
};

/// Processes the events, oldest first, then the current attachments, and returns all attachments.
class Holds {
  public:
    void add(const HistoryEvent& event);
    /// Ends the open attachments. Call it once, after all events.
    std::vector<Hold> finish(const std::vector<HeldNow>& held, Time now);

  private:
    using Key = std::pair<std::string, std::string>; // environment, device

    // An attachment without a known end. The end of its last span is the time of the last report on
    // its use.
    struct Open {
        Hold hold;
        Time lastSeen;
        bool beginsEarlier = false; // its event `attached` is missing
    };

    void attached(const HistoryEvent& event, const Key& key);
    void detached(const HistoryEvent& event, const Key& key);
    void used(const HistoryEvent& event, const Key& key, Use use);
    void environmentEnded(const HistoryEvent& event);

    Open& open(const Key& key, Time begin, Use use);
    void close(const Key& key, Time end);
    void endAt(const Key& key, Time begin, Time end);
    [[nodiscard]] bool hasEndedAfter(const Key& key, Time begin) const;
    static void know(Hold& hold, const HistoryEvent& event);

    std::map<Key, Open> open_;
    std::map<Key, Time> ended_; // when the last attachment of each key ended
    std::vector<Hold> closed_;
};

} // namespace genv::ctl
