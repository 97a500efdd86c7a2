// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/name_lookups.hpp"

#include "core/base/user_database.hpp"

#include <utility>

namespace genv::service {

namespace {

// More names than a configuration has. Beyond this number, the last answers are forgotten.
constexpr std::size_t maxKnownNames = 10'000;

} // namespace

NameLookups::NameLookups(core::Scheduler& scheduler, FairWorker& worker,
                         std::chrono::milliseconds timeout, Find find)
    : scheduler_(scheduler), worker_(worker), timeout_(timeout), find_(std::move(find)) {}

void NameLookups::resolve(core::Uid asking, const core::Names& names,
                          std::function<void(const core::ResolvedNames&)> answer) {
    if (names.empty()) {
        answer({});
        return;
    }
    const std::uint64_t number = ++lastRound_;
    Round& round = rounds_[number];
    for (const std::string& name : names.users)
        round.missing.insert({false, name});
    for (const std::string& name : names.groups)
        round.missing.insert({true, name});
    round.answer = std::move(answer);
    round.deadline = scheduler_.after(timeout_, [this, number] { finish(number); });
    for (const DirectoryName& name : std::set(round.missing))
        ask(asking, number, name);
}

void NameLookups::ask(core::Uid asking, std::uint64_t round, const DirectoryName& name) {
    worker_.run<Answer>(
        asking,
        [find = find_, name, before = lastId(name)] {
            try {
                return Answer{false, find(name, before)};
            } catch (const core::UserDatabaseError&) {
                return Answer{true, std::nullopt};
            }
        },
        [this, round, name](const Answer& answer) { learn(round, name, answer); });
}

std::optional<std::uint32_t> NameLookups::lastId(const DirectoryName& name) const {
    const auto found = last_.find(name);
    return found != last_.end() ? found->second : std::nullopt;
}

void NameLookups::learn(std::uint64_t number, const DirectoryName& name, const Answer& answer) {
    if (!answer.hasFailed) {
        if (last_.size() >= maxKnownNames && !last_.contains(name))
            last_.clear();
        last_[name] = answer.id;
    }
    const auto round = rounds_.find(number);
    if (round == rounds_.end())
        return; // the deadline has already answered
    enter(round->second, name);
    round->second.missing.erase(name);
    if (round->second.missing.empty())
        finish(number);
}

void NameLookups::enter(Round& round, const DirectoryName& name) {
    core::NamedIds& ids = name.isGroup ? round.found.groups : round.found.users;
    const auto found = last_.find(name);
    if (found == last_.end())
        ids.unanswered.insert(name.text);
    else if (found->second)
        ids.names[*found->second].insert(name.text);
    else
        ids.nobody.insert(name.text);
}

void NameLookups::finish(std::uint64_t number) {
    auto node = rounds_.extract(number);
    for (const DirectoryName& name : node.mapped().missing)
        enter(node.mapped(), name);
    node.mapped().answer(node.mapped().found);
}

std::optional<std::uint32_t> NameLookups::findInSystem(const DirectoryName& name,
                                                       std::optional<std::uint32_t> before) {
    if (const auto id = name.isGroup ? core::gidOf(name.text) : core::uidOf(name.text))
        return id;
    // The name service gives the same answer when a server is down. A name that existed is gone
    // only if the database still knows its number.
    const bool isKnown = before && (name.isGroup ? core::groupWithGid(*before).has_value()
                                                 : core::userWithUid(*before).has_value());
    return isKnown ? std::nullopt : before;
}

} // namespace genv::service
