// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/ledger/ledger_recovery.hpp"

#include <utility>

namespace genv::core {

void LedgerRecovery::settleFound(EnvironmentRecord& found, const EnvironmentRecord& written) const {
    if (found.isRegistered())
        found.pendingEnd.reset();
    else if (written.isRegistered() || written.pendingEnd || found.processes.empty())
        ledger_.lastProcessWent(found, written, written.pendingEnd && written.pendingEnd->byOwner);
}

void LedgerRecovery::restore(EnvironmentRecord environment, const EnvironmentRecord* written) {
    ledger_.lastSequence_ = std::max(ledger_.lastSequence_, environment.sequence);
    if (!environment.isAlive()) {
        ledger_.writeFact(environment);
        return;
    }
    if (environment.began == BootTime{}) // documents of earlier versions lack it
        environment.began = ledger_.clock_.bootNow();
    for (Wait& wait : environment.waits) {
        ledger_.lastSequence_ = std::max(ledger_.lastSequence_, wait.ticket);
        if (wait.began == BootTime{})
            wait.began = ledger_.clock_.bootNow();
    }
    for (const HeldLock& lock : environment.locks)
        ledger_.lastSequence_ = std::max(ledger_.lastSequence_, lock.number);
    for (const LockWait& wait : environment.lockWaits)
        ledger_.lastSequence_ = std::max(ledger_.lastSequence_, wait.ticket);
    for (const DeviceAttachment& attachment : environment.attachments) {
        ledger_.lastSequence_ = std::max(ledger_.lastSequence_, attachment.sequence);
        // Until the driver answers, the facts stored in the environment represent the device.
        const DeviceFacts& facts = attachment.device;
        if (ledger_.devices_.findUuid(facts.uuid) == nullptr &&
            ledger_.devices_.find(facts.index) == nullptr) {
            ledger_.insertDevice({facts, {Health::State::Stale, 0}, {}, std::nullopt, {}, false});
            ledger_.emit(DeviceAdded{facts.index});
        }
    }
    ledger_.applyFact(std::move(environment), Cause::fact(Reason::user()), {}, written);
}

} // namespace genv::core
