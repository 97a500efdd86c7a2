// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/user_directory.hpp"

#include "core/text.hpp"

#include <grp.h>
#include <pwd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace genv::service {

namespace {

// More users than any machine has at once. Beyond this number, the cache drops the entries that
// were requested longest ago.
constexpr std::size_t maxKnown = 10'000;

constexpr int maxGroups = 1024;

// Returns whether getpwuid_r(3) or getgrgid_r(3) reports that the database works and has no such
// entry. Other errors mean that the database does not work.
bool meansNoEntry(int error) {
    return error == 0 || error == ENOENT || error == ESRCH || error == EBADF || error == EPERM;
}

} // namespace

UserDirectory::UserDirectory(const core::Clock& clock, core::Scheduler& scheduler, core::Log& log,
                             Worker::Post post, Lookup lookup)
    : clock_(clock), scheduler_(scheduler), log_(log), lookup_(std::move(lookup)),
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
    if (known_.size() >= maxKnown && !known_.contains(user.uid))
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
    std::vector<char> buffer(16384);
    passwd entry{};
    passwd* found = nullptr;
    if (const int error = ::getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found);
        found == nullptr)
        return meansNoEntry(error) ? std::optional(core::UserInfo{}) : std::nullopt;
    // A directory server may return any text, and names reach terminals and logs.
    core::UserInfo user{uid, core::escaped(found->pw_name, core::maxNameLength), {}};
    int count = maxGroups;
    std::vector<gid_t> groups(maxGroups);
    if (::getgrouplist(found->pw_name, found->pw_gid, groups.data(), &count) < 0)
        count = maxGroups;
    groups.resize(static_cast<std::size_t>(count));
    for (const gid_t gid : groups) {
        group groupEntry{};
        group* foundGroup = nullptr;
        std::vector<char> groupBuffer(65536);
        const int error =
            ::getgrgid_r(gid, &groupEntry, groupBuffer.data(), groupBuffer.size(), &foundGroup);
        if (foundGroup != nullptr)
            user.groups.emplace_back(foundGroup->gr_name);
        else if (!meansNoEntry(error))
            return std::nullopt;
    }
    return user;
}

} // namespace genv::service
