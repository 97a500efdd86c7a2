// SPDX-License-Identifier: LGPL-2.1-or-later
// Tells an environment's owner that its share of a device's memory is nearly used up, and that it
// is exceeded: each once for an attachment, until its use has clearly gone down again. A whole
// device has no share to exceed, and many programs take all of its memory at once; nothing is told
// of those. Nothing of this is written down: after a restart it is told again.
#pragma once

#include "core/events.hpp"
#include "core/ledger.hpp"
#include "core/ports/observer.hpp"

#include <cstdint>
#include <map>

namespace genv::core {

/// From how much of a share on it counts as nearly used up, and below how much as free again, in
/// percent.
inline constexpr std::uint64_t nearlyUsedPercent = 90;
inline constexpr std::uint64_t freeAgainPercent = 80;

class MemoryWatch {
  public:
    /// `events` outlives this.
    explicit MemoryWatch(const EventHub& events) : events_(events) {}

    /// Takes an observation into account; attachments that are gone are forgotten.
    void observed(const Ledger& ledger, const Observation& observation);

  private:
    enum class Level { Nearly, Over };

    const EventHub& events_;
    std::map<std::uint64_t, Level> told_; ///< by the attachment's sequence
};

} // namespace genv::core
