// SPDX-License-Identifier: LGPL-2.1-or-later
// Port: what has happened, from wherever it was written down. Reading may take long and blocks
// nobody.
#pragma once

#include "core/error.hpp"
#include "core/process.hpp"
#include "core/time.hpp"

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

/// Which events are wanted: those between two moments for which everything given holds.
struct HistoryQuery {
    static constexpr std::size_t mostRows = 10'000;

    WallTime since{};
    WallTime until{};
    std::optional<Uid> uid;                 ///< this user's, or that it did; unset: everybody's
    std::optional<std::string> environment; ///< id
    std::optional<std::string> device;      ///< UUID
    std::vector<std::string> kinds;         ///< of History::kinds(); empty: all
    std::size_t limit = mostRows;           ///< at most so many, the oldest
    std::string after; ///< cursor of an event that was read before: only what came later

    friend bool operator==(const HistoryQuery&, const HistoryQuery&) = default;
};

/// One thing that an event tells.
using HistoryValue = std::variant<bool, std::uint32_t, std::uint64_t, std::string,
                                  std::vector<std::uint32_t>, std::vector<std::string>>;

/// An event. Texts are UTF-8 without NUL; they may hold what a user chose.
struct HistoryRow {
    std::string cursor; ///< where it stands in the history
    WallTime time;
    std::string_view kind;
    std::string message;                                            ///< for people
    std::vector<std::pair<std::string_view, HistoryValue>> details; ///< by the names of the bus
};

/// What a read came to.
struct HistoryPage {
    std::vector<HistoryRow> rows; ///< oldest first; fewer than asked for is not yet the end
    std::optional<Error> failure; ///< why there are none
};

class History {
  public:
    virtual ~History() = default;

    /// The names of all kinds of events.
    [[nodiscard]] virtual std::vector<std::string_view> kinds() const = 0;

    /// Reads for a user. Always answers, on the loop and never before this returns. Who reads much
    /// does not keep others waiting.
    virtual void read(Uid asking, HistoryQuery query, std::function<void(HistoryPage)> answer) = 0;
};

} // namespace genv::core
