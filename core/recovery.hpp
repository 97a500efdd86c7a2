// SPDX-License-Identifier: LGPL-2.1-or-later
// Recovery: from the store's documents to a ledger, at start. Whatever the documents say, the
// service starts, kills nothing, and gives no device twice.
#pragma once

#include "core/ledger.hpp"
#include "core/ports/processes.hpp"

#include <string>
#include <vector>

namespace genv::core {

/// What recovery found, for the log.
struct RecoveryReport {
    std::size_t restored = 0;
    std::size_t ended = 0;    ///< environments whose processes are all gone
    std::size_t expired = 0;  ///< leases of environments and attachments that ended meanwhile
    std::size_t setAside = 0; ///< documents that made no sense
    std::vector<std::string>
        conflicts; ///< a line for each attachment dropped because its device was given already
};

/// Reads every document, finds its processes again by pid and start time, and restores what lives,
/// oldest first. What a lease ended meanwhile, by `now`, is not restored.
RecoveryReport recover(Ledger& ledger, Store& store, Processes& processes, BootTime now);

} // namespace genv::core
