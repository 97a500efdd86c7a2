// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/user_directory.hpp"

#include "core/text.hpp"

#include <pwd.h>

#include <utility>

namespace genv::service {

namespace {

// More users than any machine has at once; beyond, everything is forgotten and learnt again.
constexpr std::size_t mostKnown = 10'000;

} // namespace

UserDirectory::UserDirectory(const core::Clock& clock, core::Scheduler& scheduler,
                             Worker::Post post, Lookup lookup)
    : clock_(clock), scheduler_(scheduler), lookup_(std::move(lookup)),
      worker_("genvd-users", std::move(post)) {}

void UserDirectory::nameOf(core::Uid uid, std::function<void(const std::string&)> answer) {
    if (const auto known = known_.find(uid);
        known != known_.end() && clock_.bootNow() < known->second.until) {
        answer(known->second.name);
        return;
    }
    Asked& asked = asked_[uid];
    asked.waiting.push_back(std::move(answer));
    if (asked.deadline)
        return; // asked already
    asked.deadline =
        scheduler_.after(patience, [this, uid] { answerAll(uid, std::to_string(uid)); });
    worker_.run<std::string>([lookup = lookup_, uid] { return lookup(uid); },
                             [this, uid](const std::string& found) {
                                 const std::string name =
                                     found.empty() ? std::to_string(uid) : found;
                                 if (known_.size() >= mostKnown)
                                     known_.clear();
                                 known_[uid] = {name, clock_.bootNow() + keptFor};
                                 answerAll(uid, name);
                             });
}

void UserDirectory::answerAll(core::Uid uid, const std::string& name) {
    const auto node = asked_.extract(uid);
    if (node.empty())
        return; // answered by the deadline before
    for (const auto& answer : node.mapped().waiting)
        answer(name);
}

std::string UserDirectory::lookUpSystem(core::Uid uid) {
    std::vector<char> buffer(16384);
    passwd entry{};
    passwd* found = nullptr;
    if (::getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr)
        return {};
    // A directory server may hold anything; names reach terminals and logs.
    return core::escaped(found->pw_name, core::longestName);
}

} // namespace genv::service
