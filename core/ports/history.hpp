// SPDX-License-Identifier: LGPL-2.1-or-later
// Port: the history of events, independent of its storage. A read may take a long time; it does not
// block the loop.
#pragma once

#include "core/base/error.hpp"
#include "core/base/process.hpp"
#include "core/base/time.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace genv::core {

/// Selects events: those between two moments that match all given fields.
struct HistoryFilter {
    static constexpr std::size_t maxRows = 10'000;

    WallTime since{};
    WallTime until{};
    std::optional<Uid> uid; ///< concerning this user or caused by them; unset: all users
    std::optional<std::string> environment; ///< id
    std::optional<std::string> device;      ///< UUID
    std::vector<std::string> kinds;         ///< of History::kinds(); empty: all
    std::size_t limit = maxRows;            ///< maximum number of rows; the oldest are returned
    std::string after; ///< cursor of an earlier event: only later events are returned

    friend bool operator==(const HistoryFilter&, const HistoryFilter&) = default;
};

/// One field of an event.
using HistoryValue = std::variant<bool, std::uint32_t, std::uint64_t, std::string,
                                  std::vector<std::uint32_t>, std::vector<std::string>>;

/// An event. Texts are UTF-8 without NUL; they may contain text that a user chose.
struct HistoryRow {
    std::string cursor; ///< position in the history
    WallTime time;
    std::string_view kind;
    std::string message;                                            ///< for display
    std::vector<std::pair<std::string_view, HistoryValue>> details; ///< by their names on the bus
};

/// The result of a read.
struct HistoryPage {
    std::vector<HistoryRow>
        rows; ///< oldest first; fewer rows than the limit do not mean the end of the history
    std::optional<Error> failure; ///< why there are no rows
};

class History {
  public:
    virtual ~History() = default;

    /// Returns the names of all kinds of events.
    [[nodiscard]] virtual std::vector<std::string_view> kinds() const = 0;

    /// Reads on behalf of a user. `answer` is always called, on the loop and never before this
    /// returns. A user who reads a lot does not delay other users.
    virtual void read(Uid asking, HistoryFilter query, std::function<void(HistoryPage)> answer) = 0;
};

} // namespace genv::core
