// SPDX-License-Identifier: LGPL-2.1-or-later
// Rules over many hosts together. What a rule finds on one host is decided by the very rules of
// core, on a situation made from the host's snapshot; what people hold is counted over all of them.
// Nothing is done here: what comes out is a report for each host, which it matches against what is
// so there by then.
#pragma once

#include "client/remote/fleet/host_state.hpp"
#include "client/remote/fleet/snapshot.hpp"
#include "core/rule_definitions.hpp"
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
    /// The processes that the host could not tell the environment of. They are not in `snapshot`:
    /// nobody may be judged by them.
    std::size_t unknownProcesses = 0;
};

/// A number for everybody, and others for some users, who are known by their names: uids differ
/// between machines. Root is exempt.
struct UserLimits {
    std::optional<std::uint32_t> everybody;
    std::map<std::string, std::uint32_t> users;

    [[nodiscard]] std::optional<std::uint32_t> of(const std::string& user) const;
};

/// Which rules are evaluated.
struct FleetRules {
    core::RuleSwitches switches;
    UserLimits maxHosts;   ///< hosts on which a user holds a device
    UserLimits maxDevices; ///< distinct devices of a user on each host, summed over the hosts
    bool terminate = true; ///< false: environments are detached and no process is signalled
    bool isDryRun = false; ///< what is decided is not to be carried out: the words say so
};

/// Something that rules have found, on one host or, without one, over all.
struct FleetFinding {
    std::optional<std::size_t> host; ///< among those given
    EnforcementAction finding;
};

/// What is to be done on one host.
struct HostOrders {
    std::vector<EnforcementAction> actions; ///< as a service tells them once they are done
    /// For "usage execute" and Execute: with the entities of the snapshot, as the old genv wants
    /// it. Empty where there is nothing to do.
    std::string report;
};

struct FleetDecision {
    std::vector<FleetFinding> findings; ///< in the order of the rules, then of the hosts
    std::vector<HostOrders> orders;     ///< as many as hosts
};

/// Evaluates the rules in the order of core::evaluate(), with the hosts of a user before the user's
/// devices. Over a limit of hosts, those go where the user holds the fewest devices, and among
/// equals those where the user came last; over one of devices, those that the user got last. Equal
/// times are told apart by the order of the hosts and of the devices: the later ones go first.
FleetDecision decide(const std::vector<FleetHost>& hosts, const FleetRules& rules);

/// For each host the index of an earlier one that is the same machine under another name: its
/// environments and attachments are the same to the last detail, and there is one.
std::vector<std::optional<std::size_t>> sameMachines(const std::vector<FleetHost>& hosts);

} // namespace genv::remote
