// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/ports/users.hpp"

#include <memory>
#include <utility>

namespace genv::core {

void describeAll(Users& users, const std::set<Uid>& uids,
                 std::function<void(const std::map<Uid, UserInfo>&)> answer) {
    struct Gathering {
        std::map<Uid, UserInfo> found;
        std::size_t missing;
        std::function<void(const std::map<Uid, UserInfo>&)> answer;
    };
    if (uids.empty()) {
        answer({});
        return;
    }
    const auto gathering =
        std::make_shared<Gathering>(Gathering{{}, uids.size(), std::move(answer)});
    for (const Uid uid : uids) {
        users.describe(uid, [gathering](const UserInfo& user) {
            gathering->found[user.uid] = user;
            if (--gathering->missing == 0)
                gathering->answer(gathering->found);
        });
    }
}

} // namespace genv::core
