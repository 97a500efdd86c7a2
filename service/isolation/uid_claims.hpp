// SPDX-License-Identifier: LGPL-2.1-or-later
// What text files say about uids, line by line, before anybody decides on it.
#pragma once

#include "core/process.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace genv::service::isolation {

/// Both ends are part of it.
struct UidRange {
    core::Uid first = 0;
    core::Uid last = 0;

    friend auto operator<=>(const UidRange&, const UidRange&) = default;
};

/// A line of /etc/subuid: this owner may become these uids.
struct SubordinateUids {
    std::string owner; ///< a name, or a uid in digits
    UidRange uids;

    friend bool operator==(const SubordinateUids&, const SubordinateUids&) = default;
};

/// Lines that newuidmap(1) would not take either are left out and complained of.
std::vector<SubordinateUids> parseSubuid(const std::string& text,
                                         std::vector<std::string>& complaints);

/// UID_MIN of login.defs(5); 1000 if it is not set, or set to what no machine has.
core::Uid parseUidMin(const std::string& text, std::vector<std::string>& complaints);

/// The uids in passwd(5), without lines that have none.
std::vector<core::Uid> parsePasswdUids(const std::string& text);

/// A uid in decimal digits, as the owner of subordinate uids may be written.
std::optional<core::Uid> parseUid(const std::string& digits);

} // namespace genv::service::isolation
