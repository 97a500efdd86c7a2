// SPDX-License-Identifier: LGPL-2.1-or-later
// A user's limits for people: in the order of genvd.conf's manual, in the units of each.
#pragma once

#include "client/genvctl/json.hpp"
#include "client/genvctl/table.hpp"
#include "genv/types.hpp"

#include <map>
#include <string>

namespace genv::ctl {

using LimitsByName = std::map<std::string, Limit>;

/// LIMIT, ALLOWED and USED; limits that this version does not know come last, as plain numbers.
Table limitsTable(const LimitsByName& limits);

/// By name, in the same order: allowed, null for unlimited, and used; bytes and seconds.
Json limitsJson(const LimitsByName& limits);

} // namespace genv::ctl
