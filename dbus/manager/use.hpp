// SPDX-License-Identifier: LGPL-2.1-or-later
// ListUse: what users have used so far, and their weights in the fair order of the queue.
#pragma once

#include "dbus/calls/bus_context.hpp"
#include "dbus/calls/call_options.hpp"
#include "dbus/calls/reply.hpp"

#include <sdbus-c++/sdbus-c++.h>

#include <cstdint>
#include <string>
#include <vector>

namespace genv::dbus {

/// Uid, user, GPU seconds, weight.
using UseRows =
    std::vector<sdbus::Struct<std::uint32_t, std::string, std::uint64_t, std::uint32_t>>;

/// Replies with the caller's use or, once the caller is authorized, with that of all users.
void listUse(const BusContext& context, const Reply<UseRows>& reply, VariantMap filter);

} // namespace genv::dbus
