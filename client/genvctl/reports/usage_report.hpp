// SPDX-License-Identifier: LGPL-2.1-or-later
// The arithmetic of the report: from the events of a period, and of the time before it, to what
// each user and each device had of it. Pure: the same events give the same sums.
//
// An attachment is held from its `attached` to its `detached`. It is idle at first, used from an
// `in-use` on, and idle again from an `idle`; where nothing says which, because the journal does
// not go back so far, its use is unknown and never guessed. What has no end in the journal and is
// held by nobody now (the machine crashed) ended with the last that was told of it.
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

/// The kinds of events that the sums are made of.
const std::vector<std::string>& kindsOfUsage();

struct Period {
    Time since;
    Time until;
};

/// An attachment that there is now.
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
    std::chrono::microseconds longest{0};

    [[nodiscard]] std::chrono::microseconds mean() const {
        return count == 0 ? total : total / static_cast<std::int64_t>(count);
    }
};

/// What somebody, or a device, had of a period. Used, idle and unknown add up to held.
struct Usage {
    std::chrono::microseconds held{0};
    std::chrono::microseconds used{0};
    std::chrono::microseconds unknown{0};
    std::size_t attachments = 0;
    WaitSums waits; ///< those that ended in the period, granted or given up
    std::size_t refusals = 0;

    [[nodiscard]] std::chrono::microseconds idle() const { return held - used - unknown; }
};

/// Each attachment counts for its user, also when two are of one device.
struct UserUsage {
    std::uint32_t uid = 0;
    std::string user;
    Usage usage;
};

/// A device counts once however many share it, and as used while any of them uses it.
struct DeviceUsage {
    std::string uuid;
    std::optional<std::uint32_t> index; ///< now, or the last one it had
    std::string model;
    Usage usage;
};

/// The attachments of a Slurm job. One that was requeued is the same job.
struct JobUsage {
    std::string job;
    std::string user;
    Usage usage;
};

struct UsageReport {
    std::vector<UserUsage> users;     ///< most held first
    std::vector<JobUsage> jobs;       ///< the same
    std::vector<DeviceUsage> devices; ///< by index
};

/// What the sums are made of. Only one user's attachments, waits and refusals where `uid` is given.
struct UsageInput {
    std::vector<HistoryEvent> events; ///< to now, oldest first
    std::vector<HeldNow> held;
    std::vector<Device> devices; ///< there is a row for each, held or not, unless `uid` is given
    std::optional<std::uint32_t> uid;
    Period period;
    Time now;
};

UsageReport usageReport(const UsageInput& input);

/// The earliest beginning of an attachment that the events or what is held now tell of: events from
/// there on are needed to know its use.
std::optional<Time> earliestBeginning(const UsageInput& input);

} // namespace genv::ctl
