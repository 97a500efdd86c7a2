// SPDX-License-Identifier: LGPL-2.1-or-later
// Recovery: from the store's documents to a ledger, at start. Whatever the documents say, the
// service starts, kills nothing, and gives no device twice.
#pragma once

#include "core/ledger.hpp"
#include "core/ports/processes.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace genv::core {

/// A waiting request that was found at start keeps its place for its client for this long.
inline constexpr std::chrono::seconds patienceWithClients{30};

/// A lease that ended while the service was down.
struct ExpiredLease {
    EnvironmentId environment;
    std::optional<DeviceIndex> device; ///< unset: the whole environment ended
};

/// What was over when the service looked again.
struct EndedMeanwhile {
    Environment former;                  ///< the environment as it was
    std::vector<Attachment> attachments; ///< what it lost
    bool isOver = false;                 ///< it ended, and did not only lose these
    Reason reason;
};

/// What recovery found. A child whose parent is over, or was never there, is over as well.
struct RecoveryReport {
    std::size_t restored = 0;
    std::size_t ended = 0;    ///< environments whose processes are all gone
    std::size_t setAside = 0; ///< documents that made no sense
    std::vector<ExpiredLease> expired;
    std::vector<EndedMeanwhile> endedMeanwhile; ///< of what is in `ended` and `expired`
    std::vector<std::string>
        conflicts; ///< a line for each attachment dropped because its device was given already
};

/// Reads every document, finds its processes again by pid and start time, and restores what lives,
/// oldest first. An environment whose process cannot be read is kept, and waits for nobody. What a
/// lease ended meanwhile, by `now`, is not restored. Throws when there is no room to look at the
/// documents or processes; nothing is changed then.
RecoveryReport recover(Ledger& ledger, Store& store, Processes& processes, BootTime now);

} // namespace genv::core
