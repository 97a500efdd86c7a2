// SPDX-License-Identifier: LGPL-2.1-or-later
// Parses statements about uids from text files, line by line. Decides nothing.
#pragma once

#include "core/base/process.hpp"
#include "core/ports/gates.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace genv::service::isolation {

using core::UidRange;

/// A line of /etc/subuid: this owner may become these uids.
struct SubordinateUids {
    std::string owner; ///< a name, or a uid in digits
    UidRange uids;

    friend bool operator==(const SubordinateUids&, const SubordinateUids&) = default;
};

/// Parses /etc/subuid. Skips lines that newuidmap(1) would not accept either, and adds a complaint
/// for each.
std::vector<SubordinateUids> parseSubuid(const std::string& text,
                                         std::vector<std::string>& complaints);

/// Returns UID_MIN of login.defs(5), or 1000 if it is unset or implausible.
core::Uid parseUidMin(const std::string& text, std::vector<std::string>& complaints);

/// Returns the uids in passwd(5). Skips lines without one.
std::vector<core::Uid> parsePasswdUids(const std::string& text);

/// Parses a uid in decimal digits, a form in which subuid may name an owner.
std::optional<core::Uid> parseUid(const std::string& digits);

} // namespace genv::service::isolation
