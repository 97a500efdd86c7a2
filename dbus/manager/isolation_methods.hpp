// SPDX-License-Identifier: LGPL-2.1-or-later
// Isolation on dev.genv.Manager: its description, and the two calls about it that pass the gate.
#pragma once

#include "dbus/calls/bus_context.hpp"
#include "dbus/calls/call_options.hpp"
#include "dbus/calls/reply.hpp"

#include <sdbus-c++/sdbus-c++.h>

#include <cstdint>
#include <string>
#include <vector>

namespace genv::dbus {

/// Returns the reply to DescribeIsolation.
VariantMap describe(const core::IsolationReport& report);

/// Uid, device, node, count, last, pid, command.
using RefusedOpenRows =
    std::vector<sdbus::Struct<std::uint32_t, std::uint32_t, std::string, std::uint64_t,
                              std::uint64_t, std::uint32_t, std::string>>;

/// Replies to ListRefusedOpens with the caller's refused opens or, once the caller is authorized,
/// with those of all users.
void listRefusedOpens(const IsolationParts& isolating, const Calls& calls,
                      const Reply<RefusedOpenRows>& reply, VariantMap filter);
/// Suspends or resumes isolation, once the caller is authorized.
void suspendIsolation(const IsolationParts& isolating, const Calls& calls, const Reply<>& reply,
                      bool suspended);

} // namespace genv::dbus
