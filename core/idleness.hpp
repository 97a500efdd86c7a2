// SPDX-License-Identifier: LGPL-2.1-or-later
// Since when attachments are idle. An attachment is in use at an observation when a compute process
// of its environment, or of a child of it, is on the device and the device's utilisation is above
// zero, or unknown. Nothing of this is written down: after a restart every attachment counts as
// used at that moment.
//
// What changes is told: that an attachment is in use as soon as that is seen, that it is idle once
// it has not been used for `idleAfter`, so that nobody hears of one more than twice in that time. A
// new attachment counts as idle until it is told to be in use. Of one that was there at start
// nothing is known, so the first that is seen of it is told in any case.
#pragma once

#include "core/environment.hpp"
#include "core/events.hpp"
#include "core/ports/observer.hpp"

#include <map>
#include <set>
#include <utility>

namespace genv::core {

class Ledger;

/// How long an attachment must not be used before it is told to be idle.
inline constexpr std::chrono::seconds idleAfter{60};

class Idleness {
  public:
    /// One that tells nobody.
    Idleness() = default;
    /// `events` outlives this.
    explicit Idleness(const EventHub& events) : events_(&events) {}

    /// Takes an observation into account; attachments that are gone are forgotten.
    void observed(const Ledger& ledger, const Observation& observation);

    /// How long an attachment has been idle at a moment; zero for one that no observation has met
    /// yet.
    [[nodiscard]] std::chrono::milliseconds of(const EnvironmentId& environment,
                                               const DeviceUuid& device, BootTime now) const;

  private:
    using Key = std::pair<EnvironmentId, DeviceUuid>;
    /// What was last told of an attachment.
    enum class Told { Nothing, InUse, Idle };
    struct Use {
        std::uint64_t attachment = 0; ///< its sequence
        BootTime last;
        WallTime lastWall; ///< the same for people
        Told told = Told::Idle;
    };

    [[nodiscard]] static std::set<Key> usedIn(const Ledger& ledger, const Observation& observation);
    void tellChange(const Environment& environment, const Attachment& attachment, bool used,
                    BootTime now, Use& use) const;

    const EventHub* events_ = nullptr;
    std::map<Key, Use> uses_;
    bool hasLooked_ = false; ///< there was an observation
};

} // namespace genv::core
