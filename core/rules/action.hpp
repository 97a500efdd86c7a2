// SPDX-License-Identifier: LGPL-2.1-or-later
// The results of an enforcement, entry by entry, for display and for the bus.
#pragma once

#include "core/base/process.hpp"
#include "core/model/device.hpp"
#include "core/model/environment.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace genv::core {

/// One finding, or one action that was or would be carried out.
struct EnforcementEntry {
    enum class Kind {
        Finding,   ///< a violation
        Terminate, ///< a process was sent SIGTERM
        Detach,    ///< an environment lost a device
        End,       ///< an environment ended
        Cancel,    ///< Slurm canceled a job
        Requeue,   ///< Slurm put a job back into its queue
        Failed,    ///< an action that failed, or that is no longer needed
    };
    Kind kind = Kind::Finding;
    std::string rule; ///< name of the rule; empty for a report
    std::string message;
    std::optional<Pid> pid;
    std::optional<EnvironmentId> environment;
    std::string user; ///< name
    std::vector<DeviceIndex> devices;
};

/// Returns a kind as on the bus: "finding", "terminate", "detach", "end", "cancel", "requeue",
/// "failed".
std::string_view nameOf(EnforcementEntry::Kind kind);

/// Whether a sentence describes an action, or what a dry run would do.
enum class Mood { Does, Would };

/// Sentences for Terminate, Detach, End, Cancel and Requeue.
std::string describeTerminating(Mood mood, Pid pid, const std::optional<EnvironmentId>& environment,
                                const std::vector<DeviceIndex>& devices);
std::string describeDetaching(Mood mood, const EnvironmentId& environment, const std::string& user,
                              DeviceIndex device);
std::string describeEnding(Mood mood, const EnvironmentId& environment, const std::string& user);
std::string describeCancelling(Mood mood, SlurmJobId job, const std::string& user);
std::string describeRequeueing(Mood mood, SlurmJobId job, const std::string& user);

} // namespace genv::core
