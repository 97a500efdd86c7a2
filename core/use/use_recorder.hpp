// SPDX-License-Identifier: LGPL-2.1-or-later
// Records what users have used, so that it outlives the service: at most once a minute while it
// changes, and at a stop. After a reboot, at most the last minute is lost.
//
// A restart of the service loses nothing. What is held follows from the attachments in the state.
// If the order depends on the use, the use of a user is recorded in a small record before the state
// says that a holding of theirs ended. That record outlives only the service.
#pragma once

#include "core/ledger/events.hpp"
#include "core/ports/clock.hpp"
#include "core/ports/scheduler.hpp"
#include "core/ports/use_store.hpp"
#include "core/use/decayed_use.hpp"
#include "core/use/start_history.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <set>

namespace genv::core {

class UseRecorder {
  public:
    static constexpr std::chrono::minutes interval{1};

    /// `isOrdering` returns whether the order of the queue depends on the use. All arguments must
    /// outlive this object.
    /// `history`, if any, is recorded with the use.
    UseRecorder(DecayedUse& use, UseStore& store, const Clock& clock, Scheduler& scheduler,
                std::function<bool()> isOrdering, StartHistory* history = nullptr);

    /// Reads the records. Call this before the ledger is restored.
    void restore();
    /// Handles an event of the ledger, after `use` has.
    void onEvent(const Event& event);
    /// Records the use of a user, one of whose holdings is about to end.
    void holdingEnds(Uid owner);
    void settingsChanged();
    /// Records the use at a stop.
    void stop();

  private:
    [[nodiscard]] UseRecord record(std::vector<UseRow> rows) const;
    [[nodiscard]] UseRecord lastingRecord() const;
    void writeRecent();
    void writeLater();
    void write();

    DecayedUse& use_;
    UseStore& store_;
    const Clock& clock_;
    Scheduler& scheduler_;
    const std::function<bool()> isOrdering_;
    StartHistory* const history_;
    std::set<Uid> recent_;  ///< users whose holdings ended since the last record
    std::set<Uid> writing_; ///< those that are being recorded
    std::unique_ptr<Scheduled> timer_;
};

} // namespace genv::core
