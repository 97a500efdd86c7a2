// SPDX-License-Identifier: LGPL-2.1-or-later
// From events to attachments: when each began and ended, and when it was used.
#pragma once

#include "client/genvctl/reports/usage_report.hpp"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace genv::ctl {

enum class Use { Unknown, Idle, Used };

/// A time in which the use of an attachment did not change.
struct UseSpan {
    Time begin;
    Time end;
    Use use = Use::Unknown;
};

/// An attachment of a device to an environment. The spans follow on each other from its beginning
/// to its end.
struct Hold {
    std::string environment;
    std::string uuid;
    std::optional<std::uint32_t> uid;
    std::string user;
    std::vector<UseSpan> spans;

    [[nodiscard]] Time begin() const { return spans.front().begin; }
    [[nodiscard]] Time end() const { return spans.back().end; }
};

/// Takes events, oldest first, then what is held now, and gives the attachments.
class Holds {
  public:
    void add(const HistoryEvent& event);
    /// Ends what is open. Called once, at last.
    std::vector<Hold> finish(const std::vector<HeldNow>& held, Time now);

  private:
    using Key = std::pair<std::string, std::string>; // environment, device

    // One whose end is not known yet. Its last span's end is when its use was told last.
    struct Open {
        Hold hold;
        Time lastSeen;
        bool beginsEarlier = false; // its `attached` was not seen
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
    std::map<Key, Time> ended_; // when the last one of these ended
    std::vector<Hold> closed_;
};

} // namespace genv::ctl
