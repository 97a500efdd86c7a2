// SPDX-License-Identifier: LGPL-2.1-or-later
// Shows the limits of users in the order of genvd.conf's manual, each in its own unit.
#pragma once

#include "client/genvctl/terminal/json.hpp"
#include "client/genvctl/terminal/table.hpp"
#include "genv/types.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace genv::ctl {

using LimitsByName = std::map<std::string, Limit>;

/// A user with the limits and the used part of each.
struct UserLimitUse {
    std::string user;
    std::uint32_t uid = 0;
    LimitsByName limits;
};

/// Returns the columns LIMIT, ALLOWED and USED. Limits that this version does not know come last,
/// as plain numbers.
/// `marksExcess`: mark use above a limit; a program reads the bare number.
Table limitsTable(const LimitsByName& limits, bool marksExcess = true);

/// Returns the limits by name, in the same order: allowed, or null for unlimited, and used, in
/// bytes and seconds.
Json limitsJson(const LimitsByName& limits);

/// Returns a row for each user, with a column for each limit: used/allowed, or used/- for
/// unlimited. The first column is as wide as the user names, if the lines still fit into `width`
/// cells.
Table allLimitsTable(const std::vector<UserLimitUse>& users, std::optional<std::size_t> width);

/// The same with plain numbers, in two columns for each limit. Empty for unlimited.
Table allLimitsNumbers(const std::vector<UserLimitUse>& users);

Json allLimitsJson(const std::vector<UserLimitUse>& users);

} // namespace genv::ctl
