// SPDX-License-Identifier: LGPL-2.1-or-later
// The input, output and evaluation order of rules. A rule is a pure function of a situation; it
// does not end or detach anything itself.
#pragma once

#include "core/devices/idleness.hpp"
#include "core/ledger/grants_over_limits.hpp"
#include "core/model/device_table.hpp"
#include "core/model/environment.hpp"
#include "core/model/guarded_use.hpp"
#include "core/ports/observer.hpp"
#include "core/settings/limits.hpp"
#include "core/settings/rule_definitions.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace genv::core {

class LedgerView;

/// The rules to evaluate, and their limits.
struct RuleSet {
    RuleSwitches switches;
    std::function<Limits(const UserInfo&)> limitsOf; ///< rules whose limit is unset find nothing
    bool keepsGrants = false; ///< leave out the rules that end what was granted (KeepGrants=)
};

/// A compute process that rules may end.
struct RunningProcess {
    const ObservedProcess* process = nullptr;
    const EnvironmentRecord* environment = nullptr; ///< null for none
    const EnvironmentRecord* parent = nullptr;      ///< the parent of the environment, or null
    Uid user = 0;      ///< the owner of the environment, or else of the process
    bool ends = false; ///< a rule has already found it
    /// Its uses of devices that isolation guards. Empty in an environment, which says itself what
    /// its processes may use.
    std::vector<GuardedUse> guarded{};

    /// Returns its memory on a device; empty if it does not use the device or the driver does not
    /// report it.
    [[nodiscard]] std::optional<Bytes> memoryOn(const DeviceUuid& device) const;
    [[nodiscard]] bool uses(const DeviceUuid& device) const;
    /// Returns whether its environment belongs to a Slurm job, or is a child of one that does.
    [[nodiscard]] bool isOfJob() const;
};

/// Returns the compute processes that rules may end, with their environments: all observed
/// processes except for those that are protected or could not be read. Without `guardedUses`,
/// isolation guards nothing. Ledger and observation must outlive the result.
std::vector<RunningProcess>
runningProcesses(const LedgerView& ledger, const Observation& observation,
                 const std::function<bool(const ObservedProcess&)>& isProtected,
                 const GuardedUses& guardedUses = {});

/// Returns the owners of environments and the users of compute processes.
std::set<Uid> usersOf(const LedgerView& ledger, const Observation& observation);

/// The input of rules, at one moment.
struct Situation {
    const std::map<std::uint64_t, EnvironmentRecord>& environments; ///< oldest first
    const DeviceTable& devices;
    std::vector<RunningProcess> processes; ///< by PID
    const Idleness& idleness;
    const std::map<Uid, UserInfo>& users; ///< every owner, and every user of a compute process
    BootTime bootNow;
};

/// A compute process to end.
struct Ending {
    ProcessFacts process;
    Uid user = 0;                    ///< the user of the process
    std::vector<DeviceUuid> devices; ///< all devices that it uses
    std::optional<EnvironmentId> environment;
};

/// An attachment to detach.
struct Detachment {
    EnvironmentId environment;
    DeviceUuid device;
};

/// The processes, attachments and environments to end.
struct Consequences {
    std::vector<Ending> endings;
    std::vector<Detachment> detachments;
    std::vector<EnvironmentId> ended;   ///< environments to end, including their attachments
    std::vector<SlurmJobId> idleJobs{}; ///< the jobs that Slurm is to cancel or requeue
};

/// One violation of a rule, with all its consequences.
struct Finding {
    Rule rule;
    Uid user = 0;                             ///< the user who violates the rule, and is warned
    std::optional<EnvironmentId> environment; ///< the environment that violates the rule, if any
    std::string subject; ///< identifies the violation; constant as long as it lasts
    std::string message; ///< a sentence for display
    Consequences consequences{};
};

/// Evaluates the rules of a set. Processes and attachments that one rule ends are not counted by
/// later rules. Grants above a limit are skipped by the rule of that limit, and root's own
/// processes and environments by the rules of all limits.
std::vector<Finding> evaluate(const Situation& situation, const RuleSet& rules);

/// Returns the grants that the rules left out by RuleSet::keepsGrants would end.
GrantsOverLimits grantsOverLimits(const Situation& situation, const RuleSet& rules);

} // namespace genv::core
