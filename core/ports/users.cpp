// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/ports/users.hpp"

#include "core/base/text.hpp"

#include <fmt/ranges.h>

#include <memory>
#include <utility>

namespace genv::core {

namespace {

using AllDescribed = std::function<void(const std::map<Uid, UserInfo>&)>;

// Calls describeOne(uid, answer) for each uid.
template <typename DescribeOne>
void gather(const std::set<Uid>& uids, AllDescribed answer, const DescribeOne& describeOne) {
    struct Gathering {
        std::map<Uid, UserInfo> found;
        std::size_t missing;
        AllDescribed answer;
    };
    if (uids.empty()) {
        answer({});
        return;
    }
    const auto gathering =
        std::make_shared<Gathering>(Gathering{{}, uids.size(), std::move(answer)});
    for (const Uid uid : uids) {
        describeOne(uid, [gathering](const UserInfo& user) {
            gathering->found[user.uid] = user;
            if (--gathering->missing == 0)
                gathering->answer(gathering->found);
        });
    }
}

} // namespace

std::vector<std::string> describeSharedIds(const NamedIds& ids, std::string_view kind) {
    std::vector<std::string> sentences;
    for (const auto& [id, names] : ids.names) {
        if (names.size() < 2)
            continue;
        std::vector<std::string> sections;
        for (const std::string& name : names)
            sections.push_back(fmt::format("[{} {}]", kind, printable(name)));
        const bool isUser = kind == "User";
        sentences.push_back(fmt::format("{} name one {} ({}): of each limit, the {} counts",
                                        fmt::join(sections, " and "), isUser ? "user" : "group", id,
                                        isUser ? "strictest" : "most generous"));
    }
    return sentences;
}

ResolvedNames unresolved(const Names& names) {
    ResolvedNames result;
    result.users.unanswered = names.users;
    result.groups.unanswered = names.groups;
    return result;
}

void describeAll(Users& users, const std::set<Uid>& uids, AllDescribed answer) {
    gather(uids, std::move(answer),
           [&users](Uid uid, std::function<void(const UserInfo&)> callback) {
               users.describe(uid, std::move(callback));
           });
}

void describeAllFor(Users& users, Uid asking, const std::set<Uid>& uids, AllDescribed answer) {
    gather(uids, std::move(answer),
           [&users, asking](Uid uid, std::function<void(const UserInfo&)> callback) {
               users.describeFor(asking, uid, std::move(callback));
           });
}

} // namespace genv::core
