// SPDX-License-Identifier: LGPL-2.1-or-later
// Calculates the report: the usage of each user and device in a period, from the events of that
// period and of the time before it. The calculation is pure: the same events give the same sums.
//
// An attachment lasts from its `attached` to its `detached`. It is idle at first, used after an
// `in-use`, and idle again after an `idle`. If the journal does not go back far enough to contain
// these events, the use is unknown and is not guessed. If an attachment has no end in the journal
// and does not exist now (the machine crashed), it ended with its last event.
#pragma once

#include "genv/types.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace genv::ctl {

/// Returns the kinds of events that the report needs.
const std::vector<std::string>& kindsOfUsage();

struct Period {
    Time since;
    Time until;
};

/// An attachment that exists now.
struct HeldNow {
    std::string environment;
    std::uint32_t uid = 0;
    std::string user;
    std::string uuid;
    Time since;
};

struct WaitSums {
    std::size_t count = 0;
    std::chrono::microseconds total{0};
    std::chrono::microseconds max{0};

    [[nodiscard]] std::chrono::microseconds mean() const {
        return count == 0 ? total : total / static_cast<std::int64_t>(count);
    }
};

/// The usage of a user or of a device in a period. Used, idle and unknown times add up to the held
/// time.
struct Usage {
    std::chrono::microseconds held{0};
    std::chrono::microseconds used{0};
    std::chrono::microseconds unknown{0};
    /// In which parked environments did without the device, apart from the held time.
    std::chrono::microseconds parked{0};
    std::chrono::microseconds taken{0}; ///< the part of it for requests of others
    std::size_t attachments = 0;
    WaitSums waits; ///< waits that ended in the period, with a grant or without
    std::size_t refusals = 0;

    [[nodiscard]] std::chrono::microseconds idle() const { return held - used - unknown; }
};

/// Every attachment counts for its user, even if two of them have the same device.
struct UserUsage {
    std::uint32_t uid = 0;
    std::string user;
    Usage usage;
};

/// A shared device counts once, and as used while any of its attachments is used.
struct DeviceUsage {
    std::string uuid;
    std::optional<std::uint32_t> index; ///< the present index, or the last one
    std::string model;
    Usage usage;
};

/// The attachments of a Slurm job. A requeued job is the same job.
struct JobUsage {
    std::string job;
    std::string user;
    Usage usage;
};

struct UsageReport {
    std::vector<UserUsage> users;     ///< longest held time first
    std::vector<JobUsage> jobs;       ///< longest held time first
    std::vector<DeviceUsage> devices; ///< by index
};

/// The input of the report. If `uid` is set, it contains the attachments, waits and refusals of
/// this user only.
struct UsageInput {
    std::vector<HistoryEvent> events; ///< until now, oldest first
    std::vector<HeldNow> held;
    std::vector<std::string> parked; ///< the ids of the environments that are parked now
    std::vector<Device> devices;     ///< each gets a row, held or not, unless `uid` is set
    std::optional<std::uint32_t> uid;
    Period period;
    Time now;
};

UsageReport usageReport(const UsageInput& input);

/// Returns the earliest beginning of an attachment in the events or among the present attachments.
/// The events since that time are needed to know its use.
std::optional<Time> earliestBeginning(const UsageInput& input);

} // namespace genv::ctl
