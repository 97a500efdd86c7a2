// SPDX-License-Identifier: LGPL-2.1-or-later
// A user's limits for people: in the order of genvd.conf's manual, in the units of each.
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

/// A user with what they may have and have.
struct UserLimits {
    std::string user;
    std::uint32_t uid = 0;
    LimitsByName limits;
};

/// LIMIT, ALLOWED and USED; limits that this version does not know come last, as plain numbers.
Table limitsTable(const LimitsByName& limits);

/// By name, in the same order: allowed, null for unlimited, and used; bytes and seconds.
Json limitsJson(const LimitsByName& limits);

/// A row for each user, with a column for each limit: used/allowed, and used/- for unlimited. The
/// column of the users is as wide as their names, as far as lines of `width` cells allow.
Table allLimitsTable(const std::vector<UserLimits>& users, std::optional<std::size_t> width);

/// The same with plain numbers, two columns for each limit; nothing for unlimited.
Table allLimitsNumbers(const std::vector<UserLimits>& users);

Json allLimitsJson(const std::vector<UserLimits>& users);

} // namespace genv::ctl
