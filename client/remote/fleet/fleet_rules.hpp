// SPDX-License-Identifier: LGPL-2.1-or-later
// Rules over many hosts together. The rules for a single host are core's own rules, evaluated on a
// situation made from the host's snapshot. Limits on users are counted over all hosts. This code
// executes nothing: the result is a report for each host, which the host compares with its state at
// that time.
#pragma once

#include "client/remote/fleet/host_snapshot.hpp"
#include "client/remote/fleet/host_state.hpp"
#include "core/settings/rule_definitions.hpp"
#include "genv/types.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace genv::remote {

/// A host that has answered.
struct FleetHost {
    Genv genv = Genv::Service;
    Snapshot snapshot;
    /// The number of processes whose environment the host could not determine. They are not in
    /// `snapshot`, because no user may be judged by them.
    std::size_t unknownProcesses = 0;
};

/// A limit for all users, and other limits for some users, who are identified by name because uids
/// differ between machines. Root is exempt.
struct UserLimits {
    std::optional<std::uint32_t> everybody;
    std::map<std::string, std::uint32_t> users;

    [[nodiscard]] std::optional<std::uint32_t> of(const std::string& user) const;
};

/// The rules to evaluate.
struct FleetRules {
    core::RuleSwitches switches;
    UserLimits maxHosts;   ///< the number of hosts on which a user may hold a device
    UserLimits maxDevices; ///< the number of distinct devices of a user on each host, summed over
                           ///< all hosts
    bool terminate = true; ///< false: environments are detached and no process is signalled
    bool isDryRun = false; ///< the decision is not executed, and messages say so
};

/// A finding of the rules on one host, or over all hosts if `host` is unset.
struct FleetFinding {
    std::optional<std::size_t> host; ///< an index into the given hosts
    EnforcementAction finding;
};

/// The actions to take on one host.
struct HostOrders {
    std::vector<EnforcementAction> actions; ///< as a service reports them when executed
    /// The report for "usage execute" and Execute. It contains the entities of the snapshot, as
    /// genv 1 requires. Empty if there is nothing to do.
    std::string report;
};

struct FleetDecision {
    std::vector<FleetFinding> findings; ///< in the order of the rules, then of the hosts
    std::vector<HostOrders> orders;     ///< one for each host
};

/// Evaluates the rules in the order of core::evaluate(), and the limit on a user's hosts before the
/// limit on a user's devices. Above the limit on hosts, the user loses the hosts with the fewest
/// devices, and among those the host where the user's attachment is newest. Above the limit on
/// devices, the user loses the newest attachments. Equal times are ordered by host and device, and
/// the later ones are lost first.
FleetDecision decide(const std::vector<FleetHost>& hosts, const FleetRules& rules);

/// Returns for each host the index of an earlier host that is the same machine under another name.
/// Two hosts are the same if they have at least one attachment and all their environments and
/// attachments are equal.
std::vector<std::optional<std::size_t>> sameMachines(const std::vector<FleetHost>& hosts);

} // namespace genv::remote
