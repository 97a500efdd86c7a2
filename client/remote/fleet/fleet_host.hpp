// SPDX-License-Identifier: LGPL-2.1-or-later
// One of several hosts under common rules: reads its state, and executes the decision on it. A
// service is called over the bus; genv 1, written in Python, is run on the host.
#pragma once

#include "client/remote/fleet/fleet_rules.hpp"
#include "client/remote/ssh/session.hpp"

#include <string_view>
#include <vector>

namespace genv::remote {

/// Reads a host. From a service, this includes data that is not in a snapshot: the users of
/// processes outside environments, and the exact start of each attachment. Throws HostFailure, with
/// Trouble::NoService if the host has no genv at all.
FleetHost readFleetHost(const Host& host, const SshBounds& bounds);

/// Executes a decision on a host. Returns the host's report of its actions and failures. Throws
/// HostFailure, with Trouble::NotAuthorized if polkit on the host denies access.
std::vector<EnforcementAction> carryOut(const Host& host, Genv genv, const HostOrders& orders,
                                        bool terminate, const SshBounds& bounds);

/// Returns the results of orders from the output of genv 1: all orders were executed except those
/// for which it prints an error. Used by carryOut().
std::vector<EnforcementAction> outcomeOf(const HostOrders& orders, std::string_view printed);

} // namespace genv::remote
