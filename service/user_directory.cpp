// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/user_directory.hpp"

#include "core/base/text.hpp"
#include "core/base/user_database.hpp"

#include <algorithm>
#include <utility>

namespace genv::service {

namespace {

// More users than any machine has at once. Beyond this number, the cache drops the entries that
// were requested longest ago.
constexpr std::size_t maxKnownUsers = 10'000;

// Returns the name as it is, except for characters that no terminal, log or bus may get. A
// directory server may return any text.
std::string nameOf(const core::UserEntry& user) {
    return user.name.size() <= core::maxUserNameLength ? core::printable(user.name)
                                                       : std::to_string(user.uid);
}

} // namespace

UserDirectory::UserDirectory(const core::Clock& clock, core::Scheduler& scheduler, core::Log& log,
                             Worker::Post post, Lookup lookup, NameLookups::Find find)
    : clock_(clock), scheduler_(scheduler), log_(log), lookup_(std::move(lookup)),
      names_(scheduler, worker_, timeout, std::move(find)),
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
    if (!asked.requesters.insert(asking).second)
        return; // already requested
    // Each caller gets a full timeout, regardless of callers before.
    asked.deadline = scheduler_.after(timeout, [this, uid] { answerWithoutDatabase(uid); });
    worker_.run<std::optional<core::UserInfo>>(
        asking, [lookup = lookup_, uid] { return lookup(uid); },
        [this, uid](const std::optional<core::UserInfo>& found) { learn(uid, found); },
        [this, uid] { return asked_.contains(uid); });
}

void UserDirectory::resolve(core::Uid asking, const core::Names& names,
                            std::function<void(const core::ResolvedNames&)> answer) {
    names_.resolve(asking, names, std::move(answer));
}

core::UserInfo UserDirectory::newest(const core::UserInfo& user) const {
    const auto known = known_.find(user.uid);
    return known != known_.end() ? known->second.user : user;
}

void UserDirectory::learn(core::Uid uid, const std::optional<core::UserInfo>& found) {
    if (!found) {
        answerWithoutDatabase(uid);
        return;
    }
    // A user who existed before is not found. The name service gives the same answer when a server
    // is down, so the last answer stays valid.
    core::UserInfo user = found->name.empty() ? newest({uid, std::to_string(uid), {}}) : *found;
    user.uid = uid;
    keep(user);
    answerAll(user);
}

void UserDirectory::keep(core::UserInfo user) {
    if (known_.size() >= maxKnownUsers && !known_.contains(user.uid))
        known_.erase(
            std::min_element(known_.begin(), known_.end(), [](const auto& a, const auto& b) {
                return a.second.until < b.second.until;
            }));
    const core::Uid uid = user.uid;
    known_[uid] = {std::move(user), clock_.bootNow() + keptFor};
}

void UserDirectory::answerWithoutDatabase(core::Uid uid) {
    if (!asked_.contains(uid))
        return; // the deadline has already answered
    if (const core::BootTime now = clock_.bootNow(); now >= nextWarning_) {
        nextWarning_ = now + keptFor;
        log_.warning("the user database does not answer (asked about uid {}): its last answers "
                     "hold, and the strictest limits apply to requests of users without an answer",
                     uid);
    }
    answerAll(newest({uid, std::to_string(uid), {}, true}));
}

void UserDirectory::answerAll(const core::UserInfo& user) {
    const auto node = asked_.extract(user.uid);
    if (node.empty())
        return; // the deadline has already answered
    for (const auto& answer : node.mapped().waiting)
        answer(user);
}

std::optional<core::UserInfo> UserDirectory::lookUpSystem(core::Uid uid) {
    try {
        const auto found = core::userWithUid(uid);
        if (!found)
            return core::UserInfo{};
        return core::UserInfo{uid, nameOf(*found), core::groupsOf(*found)};
    } catch (const core::UserDatabaseError&) {
        return std::nullopt;
    }
}

} // namespace genv::service
