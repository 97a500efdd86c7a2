// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/user_directory.hpp"

#include "core/text.hpp"

#include <grp.h>
#include <pwd.h>

#include <utility>

namespace genv::service {

namespace {

// More users than any machine has at once; beyond, everything is forgotten and learnt again.
constexpr std::size_t mostKnown = 10'000;

constexpr int mostGroups = 1024;

} // namespace

UserDirectory::UserDirectory(const core::Clock& clock, core::Scheduler& scheduler,
                             Worker::Post post, Lookup lookup)
    : clock_(clock), scheduler_(scheduler), lookup_(std::move(lookup)),
      worker_("genvd-users", std::move(post)) {}

void UserDirectory::describe(core::Uid uid, std::function<void(const core::UserInfo&)> answer) {
    describeFor(uid, uid, std::move(answer));
}

void UserDirectory::describeFor(core::Uid asking, core::Uid uid,
                                std::function<void(const core::UserInfo&)> answer) {
    if (const auto known = known_.find(uid);
        known != known_.end() && clock_.bootNow() < known->second.until) {
        answer(known->second.user);
        return;
    }
    Asked& asked = asked_[uid];
    asked.waiting.push_back(std::move(answer));
    if (!asked.deadline)
        asked.deadline = scheduler_.after(patience, [this, uid] {
            answerAll({uid, std::to_string(uid), {}});
        });
    if (!asked.askers.insert(asking).second)
        return; // asked already
    worker_.run<core::UserInfo>(
        asking, [lookup = lookup_, uid] { return lookup(uid); },
        [this, uid](const core::UserInfo& found) { learn(uid, found); },
        [this, uid] { return asked_.contains(uid); });
}

void UserDirectory::learn(core::Uid uid, core::UserInfo user) {
    user.uid = uid;
    if (user.name.empty())
        user.name = std::to_string(uid);
    if (known_.size() >= mostKnown)
        known_.clear();
    known_[uid] = {user, clock_.bootNow() + keptFor};
    answerAll(user);
}

void UserDirectory::answerAll(const core::UserInfo& user) {
    const auto node = asked_.extract(user.uid);
    if (node.empty())
        return; // answered by the deadline before
    for (const auto& answer : node.mapped().waiting)
        answer(user);
}

core::UserInfo UserDirectory::lookUpSystem(core::Uid uid) {
    std::vector<char> buffer(16384);
    passwd entry{};
    passwd* found = nullptr;
    if (::getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr)
        return {};
    // A directory server may hold anything; names reach terminals and logs.
    core::UserInfo user{uid, core::escaped(found->pw_name, core::longestName), {}};
    int count = mostGroups;
    std::vector<gid_t> groups(mostGroups);
    if (::getgrouplist(found->pw_name, found->pw_gid, groups.data(), &count) < 0)
        count = mostGroups;
    groups.resize(static_cast<std::size_t>(count));
    for (const gid_t gid : groups) {
        group groupEntry{};
        group* foundGroup = nullptr;
        std::vector<char> groupBuffer(65536);
        if (::getgrgid_r(gid, &groupEntry, groupBuffer.data(), groupBuffer.size(), &foundGroup) ==
                0 &&
            foundGroup != nullptr)
            user.groups.emplace_back(foundGroup->gr_name);
    }
    return user;
}

} // namespace genv::service
