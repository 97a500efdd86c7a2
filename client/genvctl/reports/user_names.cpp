// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/reports/user_names.hpp"

#include "client/genvctl/context/context.hpp"
#include "core/base/user_database.hpp"

#include <map>

namespace genv::ctl {

// This machine does not know the users of another machine. Their names come from the environments
// there.
UserNames userNames(Context& context) {
    std::map<std::uint32_t, std::string> users;
    if (context.options.host) {
        for (const EnvironmentEntry& entry : context.client().environments())
            users.emplace(entry.uid, entry.user);
    }
    return [users, isHere = !context.options.host](std::uint32_t uid) {
        if (const auto found = users.find(uid); found != users.end())
            return found->second;
        const auto person = isHere ? core::shownUser(uid) : std::nullopt;
        return person ? person->name : std::to_string(uid);
    };
}

} // namespace genv::ctl
