// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/journal/journal_history.hpp"

#include "service/journal/contract.hpp"

#include <utility>

namespace genv::service {

JournalHistory::JournalHistory(Worker::Post post, journal::Source source, journal::Bounds bounds)
    : source_(std::move(source)), bounds_(bounds), worker_("history", std::move(post)) {}

JournalHistory::~JournalHistory() {
    stop_ = true;
}

std::vector<std::string_view> JournalHistory::kinds() const {
    std::vector<std::string_view> names;
    for (const journal::Kind& kind : journal::kinds)
        names.push_back(kind.name);
    return names;
}

void JournalHistory::read(core::Uid asking, core::HistoryFilter query,
                          std::function<void(core::HistoryPage)> answer) {
    asked_[asking].push_back({std::move(query), std::move(answer)});
    next();
}

void JournalHistory::next() {
    if (reading_ || asked_.empty())
        return;
    reading_ = true;
    auto turn = asked_.upper_bound(lastServed_);
    if (turn == asked_.end())
        turn = asked_.begin();
    lastServed_ = turn->first;
    Asked asked = std::move(turn->second.front());
    turn->second.pop_front();
    if (turn->second.empty())
        asked_.erase(turn);
    worker_.run<core::HistoryPage>(
        [this, query = std::move(asked.query)] {
            return journal::read(source_, query, bounds_, stop_);
        },
        [this, answer = std::move(asked.answer)](core::HistoryPage page) {
            reading_ = false;
            next();
            answer(std::move(page));
        });
}

} // namespace genv::service
