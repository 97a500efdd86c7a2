// SPDX-License-Identifier: LGPL-2.1-or-later
// What rules are: what they look at, what they find, and in which order. A rule is a pure function
// of a situation; it ends nothing and detaches nothing itself.
#pragma once

#include "core/device_table.hpp"
#include "core/environment.hpp"
#include "core/idleness.hpp"
#include "core/limits.hpp"
#include "core/ports/observer.hpp"
#include "core/rule_definitions.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace genv::core {

class Ledger;

/// Which rules are evaluated, and with which limits.
struct RuleSet {
    RuleSwitches switches;
    std::function<Limits(const UserInfo&)> limitsOf; ///< unset limits are rules that find nothing
};

/// A compute process that rules may end.
struct RunningProcess {
    const ComputeProcess* process = nullptr;
    const Environment* environment = nullptr; ///< null for none
    const Environment* parent = nullptr;      ///< the environment's, or null
    Uid user = 0;                             ///< the environment's owner, else the process's own
    bool ends = false;                        ///< a rule has found it

    /// What it uses of a device; empty where it does not use it or the driver does not know.
    [[nodiscard]] std::optional<Bytes> memoryOn(const DeviceUuid& device) const;
    [[nodiscard]] bool uses(const DeviceUuid& device) const;
    /// Whether its environment is a Slurm job's, or within one that is.
    [[nodiscard]] bool isOfJob() const;
};

/// Returns the compute processes that rules may end, with their environments: all that were
/// observed but for those that are protected or could not be read. Ledger and observation outlive
/// the result.
std::vector<RunningProcess>
runningProcesses(const Ledger& ledger, const Observation& observation,
                 const std::function<bool(const ComputeProcess&)>& isProtected);

/// What rules look at, at one moment.
struct Situation {
    const std::map<std::uint64_t, Environment>& environments; ///< oldest first
    const DeviceTable& devices;
    std::vector<RunningProcess> processes; ///< by pid
    const Idleness& idleness;
    const std::map<Uid, UserInfo>& users; ///< every owner and every user of a compute process
    BootTime bootNow;
};

/// A compute process that must end.
struct Ending {
    ProcessFacts process;
    Uid user = 0;                    ///< whose it is
    std::vector<DeviceUuid> devices; ///< all it uses
    std::optional<EnvironmentId> environment;
};

/// An attachment that must go.
struct Detachment {
    EnvironmentId environment;
    DeviceUuid device;
};

/// What must end and what must go.
struct Consequences {
    std::vector<Ending> endings;
    std::vector<Detachment> detachments;
    std::vector<EnvironmentId> ended;   ///< environments that must end, their attachments with them
    std::vector<SlurmJobId> idleJobs{}; ///< that Slurm is to do something about
};

/// One violation of a rule, with all that follows from it.
struct Finding {
    Rule rule;
    Uid user = 0;                             ///< whose it is, and who is warned
    std::optional<EnvironmentId> environment; ///< that it is about, when it is about one
    std::string subject; ///< names the violation, the same for as long as it lasts
    std::string message; ///< the sentence people read
    Consequences consequences{};
};

/// Evaluates the rules of a set. What one rule ends, later ones do not count again; what was
/// granted over a limit is spared by that limit's rules, and root's own processes and environments
/// by every limit's.
std::vector<Finding> evaluate(const Situation& situation, const RuleSet& rules);

} // namespace genv::core
