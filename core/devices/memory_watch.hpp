// SPDX-License-Identifier: LGPL-2.1-or-later
// Reports to an environment's owner that its share of a device's memory is nearly used up, and that
// it is exceeded. Each is reported once per attachment, until the use has clearly gone down again.
// Whole devices are not watched: they have no share to exceed, and many programs allocate all of
// their memory at once. The state is not persistent, so reports may repeat after a restart.
#pragma once

#include "core/ledger/events.hpp"
#include "core/ledger/ledger_view.hpp"
#include "core/ports/observer.hpp"

#include <cstdint>
#include <map>

namespace genv::core {

/// The percentage of a share from which it counts as nearly used up, and the one below which it
/// counts as free again.
inline constexpr std::uint64_t nearlyUsedPercent = 90;
inline constexpr std::uint64_t freeAgainPercent = 80;

class MemoryWatch {
  public:
    /// `events` must outlive this object.
    explicit MemoryWatch(const EventHub& events) : events_(events) {}

    /// Processes an observation. Attachments that no longer exist are forgotten.
    void observed(const LedgerView& ledger, const Observation& observation);

  private:
    enum class Level { Nearly, Over };

    const EventHub& events_;
    std::map<std::uint64_t, Level> reported_; ///< by the sequence number of the attachment
};

} // namespace genv::core
