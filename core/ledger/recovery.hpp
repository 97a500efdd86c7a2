// SPDX-License-Identifier: LGPL-2.1-or-later
// Recovery: builds the ledger from the documents in the store, at start. Whatever the documents
// contain, the service starts, kills no process, and grants no device twice.
#pragma once

#include "core/ledger/ledger.hpp"
#include "core/ports/processes.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace genv::core {

/// How long a restored waiting request keeps its position for its client.
inline constexpr std::chrono::seconds clientTimeout{30};

/// A lease that ended while the service was not running.
struct ExpiredLease {
    EnvironmentId environment;
    std::optional<DeviceIndex> device; ///< unset: the lease of the whole environment ended
};

/// A change that happened while the service was not running.
struct EndedMeanwhile {
    EnvironmentRecord former;                  ///< the environment before the change
    std::vector<DeviceAttachment> attachments; ///< the attachments that it lost
    bool isOver = false; ///< true if it ended, false if it only lost the attachments
    Reason reason;
};

/// The result of recovery. If a parent is over or does not exist, its children are over as well.
struct RecoveryReport {
    std::size_t restored = 0;
    std::size_t ended = 0;    ///< environments whose processes are all gone
    std::size_t setAside = 0; ///< number of invalid documents
    std::vector<ExpiredLease> expired;
    std::vector<EndedMeanwhile> endedMeanwhile; ///< details of `ended` and `expired`
    std::vector<std::string> conflicts; ///< one line for each attachment that was dropped because
                                        ///< its device was already granted
};

/// Reads every document, identifies its processes by PID and start time, and restores the living
/// environments, oldest first. An environment whose process cannot be read is kept, and recovery
/// does not wait for it. Environments and attachments whose lease ended before `now` are not
/// restored. Throws if the service lacks the memory or descriptors to read the documents or
/// processes; nothing has changed then.
RecoveryReport recover(Ledger& ledger, Store& store, Processes& processes, BootTime now);

} // namespace genv::core
