// SPDX-License-Identifier: LGPL-2.1-or-later
// Tracks since when attachments are idle. An observation shows an attachment in use if a compute
// process of its environment, or of a child of it, is on the device and the device's utilisation is
// above zero or unknown. The times are not persistent: after a restart every attachment counts as
// used at that moment.
//
// Changes are reported as events. An attachment is reported as in use as soon as an observation
// shows it, and as idle once it has not been used for `idleAfter`. So there are at most two events
// for an attachment in that time. A new attachment counts as idle until it is reported as in use.
// The state of an attachment that existed at start is unknown, so the first observed state is
// always reported.
#pragma once

#include "core/ledger/events.hpp"
#include "core/model/environment.hpp"
#include "core/ports/observer.hpp"

#include <map>
#include <set>
#include <utility>

namespace genv::core {

class LedgerView;

/// The time without use after which an attachment is reported as idle.
inline constexpr std::chrono::seconds idleAfter{60};

class Idleness {
  public:
    /// Creates an object that emits no events.
    Idleness() = default;
    /// `events` must outlive this object.
    explicit Idleness(const EventHub& events) : events_(&events) {}

    /// Processes an observation. Attachments that no longer exist are forgotten.
    void observed(const LedgerView& ledger, const Observation& observation);

    /// Returns how long an attachment has been idle at a moment; zero if no observation included it
    /// yet.
    [[nodiscard]] std::chrono::milliseconds of(const EnvironmentId& environment,
                                               const DeviceUuid& device, BootTime now) const;

  private:
    using Key = std::pair<EnvironmentId, DeviceUuid>;
    /// The state of an attachment that was last reported.
    enum class Reported { Nothing, InUse, Idle };
    struct Use {
        std::uint64_t attachment = 0; ///< the sequence number of the attachment
        BootTime last;
        WallTime lastWall; ///< the same moment on the wall clock, for display
        Reported reported = Reported::Idle;
    };

    [[nodiscard]] static std::set<Key> usedIn(const LedgerView& ledger,
                                              const Observation& observation);
    void emitChange(const EnvironmentRecord& environment, const DeviceAttachment& attachment,
                    bool used, BootTime now, Use& use) const;

    const EventHub* events_ = nullptr;
    std::map<Key, Use> uses_;
    bool hasLooked_ = false; ///< an observation was processed
};

} // namespace genv::core
