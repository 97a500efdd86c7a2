// SPDX-License-Identifier: LGPL-2.1-or-later
// How long earlier environments lasted, and how good the expected starts were that followed from
// it. An environment is expected to last as long as most of its user's environments of the same
// name did. The lists are bounded, and outlive the boot with the record of the users' use.
#pragma once

#include "core/ledger/events.hpp"
#include "core/model/environment.hpp"
#include "core/ports/clock.hpp"
#include "core/ports/use_store.hpp"

#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>
#include <string>

namespace genv::core {

class StartHistory {
  public:
    static constexpr std::size_t maxLengths = 20; ///< for each user and name
    static constexpr std::size_t maxRows = 1000;  ///< users and names; the oldest are dropped
    static constexpr std::size_t maxGuesses = 50;

    /// The clock must outlive this object.
    explicit StartHistory(const Clock& clock) : clock_(clock) {}

    /// Handles an event of the ledger: an environment that held devices has ended.
    void onEvent(const Event& event);
    void ended(Uid uid, const std::string& name, std::chrono::microseconds length);
    /// Returns the median length of the earlier environments of this user and name. For one that is
    /// older already: the median of those that lasted longer, or nothing if none did.
    [[nodiscard]] std::optional<std::chrono::microseconds>
    expectedLength(Uid uid, const std::string& name, std::chrono::microseconds age) const;

    /// Compares an expected wait with the actual one.
    void waited(std::chrono::microseconds expected, std::chrono::microseconds actual);
    /// Returns whether at least half of the last expected waits were right within a factor of two.
    [[nodiscard]] bool isReliable() const;

    /// Copies the lists to a record, or restores them from one.
    void addTo(UseRecord& record) const;
    void restore(const UseRecord& record);

  private:
    const Clock& clock_;
    std::deque<LengthRow> rows_; ///< the least recently ended first
    std::deque<bool> guesses_;   ///< whether they were right, oldest first
};

} // namespace genv::core
