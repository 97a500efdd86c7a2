// SPDX-License-Identifier: LGPL-2.1-or-later
// What each user has used so far: GPU seconds held, which halve every half-life. A whole device
// counts as one GPU, a share as its fraction of the device's memory. A device counts as one for a
// user at most. A child environment uses the devices of its parent, so it counts nothing itself. A
// loan counts a tenth, until parking it for others failed.
//
// The use of a moment follows exactly from that of an earlier one, so it does not depend on how
// often it is computed. It runs on the boot clock, which nobody can set.
#pragma once

#include "core/ledger/events.hpp"
#include "core/ledger/ledger_view.hpp"
#include "core/ports/clock.hpp"
#include "core/ports/use_store.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace genv::core {

/// Returns the use after `duration`, with `gpus` held all the time. `halfLife`: positive.
double useAfter(double gpuSeconds, double gpus, std::chrono::microseconds duration,
                std::chrono::milliseconds halfLife);

class DecayedUse {
  public:
    /// Both arguments must outlive this object.
    DecayedUse(const LedgerView& ledger, const Clock& clock, std::chrono::milliseconds halfLife);

    /// Call this before the ledger is restored. Of several records, the latest row of a user
    /// counts. A row of an earlier boot decays by the wall clock, which may have been set: never by
    /// less than nothing. `boot`: the id of this boot.
    void restore(const UseRecord& record, const std::string& boot);
    /// Handles an event of the ledger.
    void onEvent(const Event& event);
    /// Counts what an environment held until it was lost while the service was not running. Call
    /// this after the ledger is restored.
    void countLost(const EnvironmentRecord& former, const std::vector<DeviceAttachment>& lost);
    void setHalfLife(std::chrono::milliseconds halfLife);

    /// Returns the use of a user, in GPU seconds.
    [[nodiscard]] double of(Uid uid, BootTime now) const;
    /// Returns the use of all users who have used anything.
    [[nodiscard]] std::vector<UseRow> all(BootTime now) const;
    /// Returns the use of these users, if they are known.
    [[nodiscard]] std::vector<UseRow> of(const std::set<Uid>& users, BootTime now) const;
    /// Returns whether somebody holds a device, so that the use changes.
    [[nodiscard]] bool isGrowing() const { return holders_ > 0; }

  private:
    struct Account {
        double gpuSeconds = 0;
        BootTime asOf;
        BootTime countedUntil;                   ///< the restored use includes what was before
        std::map<DeviceUuid, std::int64_t> held; ///< in partsOfGpu
        std::int64_t parts = 0;                  ///< the sum of `held`
    };

    void recount(const EnvironmentId& environment, const EnvironmentRecord* former, Uid owner,
                 const DeviceAttachment& attachment);
    void recountLoan(const EnvironmentId& environment);
    [[nodiscard]] Account& accountOf(Uid uid, BootTime now);
    [[nodiscard]] double heldBy(Uid owner, const DeviceUuid& device) const;
    void settle(Account& account, BootTime now) const;
    void setHeld(Account& account, const DeviceUuid& device, double gpus);

    const LedgerView& ledger_;
    const Clock& clock_;
    std::chrono::milliseconds halfLife_;
    std::map<Uid, Account> accounts_;
    std::size_t holders_ = 0; ///< number of users who hold devices
};

} // namespace genv::core
