// SPDX-License-Identifier: LGPL-2.1-or-later
// One host for rules over many: reading what they look at, and carrying out what they decided. A
// service is asked over the bus; the old Python genv is run there.
#pragma once

#include "client/remote/fleet/fleet_rules.hpp"
#include "client/remote/ssh/session.hpp"

#include <string_view>
#include <vector>

namespace genv::remote {

/// Reads a host. Of a service also what a snapshot does not say: whose the processes outside
/// environments are, and since when exactly devices are held. Throws HostFailure;
/// Trouble::NoService where there is no genv at all.
FleetHost readFleetHost(const Host& host, const SshBounds& bounds);

/// Has a host carry out what was decided, and returns what it did and what it could not do, as it
/// says itself. Throws HostFailure; Trouble::NotAuthorised where polkit there says no.
std::vector<EnforcementAction> carryOut(const Host& host, Genv genv, const HostOrders& orders,
                                        bool terminate, const SshBounds& bounds);

/// What became of orders according to what the old genv printed: all of them were carried out but
/// for those that it complains about. For carryOut().
std::vector<EnforcementAction> outcomeOf(const HostOrders& orders, std::string_view printed);

} // namespace genv::remote
