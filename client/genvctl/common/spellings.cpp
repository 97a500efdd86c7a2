// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/common/spellings.hpp"

#include "core/base/user_database.hpp"

namespace genv::ctl {

std::set<std::string> spellingsOf(const std::string& user) {
    std::set<std::string> spellings{user};
    try {
        if (const auto known = core::userNamed(user))
            spellings.insert(known->name);
    } catch (const core::UserDatabaseError&) {
        // Only the given name is known.
    }
    return spellings;
}

} // namespace genv::ctl
