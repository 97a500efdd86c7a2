// SPDX-License-Identifier: LGPL-2.1-or-later
// The ledger as a start fills it, and nobody else.
#pragma once

#include "core/ledger/ledger.hpp"

#include <algorithm>
#include <cstdint>

namespace genv::core {

class LedgerRecovery {
  public:
    /// The ledger must outlive this object.
    explicit LedgerRecovery(Ledger& ledger) : ledger_(ledger) {}

    /// Settles the end of an environment that recovery found, after the removal of its processes
    /// that are gone: without a registered process it ends, or its end becomes pending.
    void settleFound(EnvironmentRecord& found, const EnvironmentRecord& written) const;
    /// Restores an environment from the store, with its living processes pinned
    /// (core/ledger/recovery.hpp). If no process is alive, the environment is over and only its
    /// document is removed. `written` is the state in the store: the document is only written again
    /// if the state differs from it.
    void restore(EnvironmentRecord environment, const EnvironmentRecord* written = nullptr);
    /// Makes all new numbers larger than this one.
    void numberFrom(std::uint64_t number) {
        ledger_.lastSequence_ = std::max(ledger_.lastSequence_, number);
    }

  private:
    Ledger& ledger_;
};

} // namespace genv::core
