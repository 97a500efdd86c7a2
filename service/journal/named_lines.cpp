// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/journal/named_lines.hpp"

#include "service/journal/naming.hpp"

#include <utility>

namespace genv::service::journal {

NamedLines::~NamedLines() {
    *alive_ = false;
    while (!waiting_.empty())
        writeFirst();
}

void NamedLines::write(core::Severity severity, const std::string& line) {
    write(severity, line, isNaming_ ? uidsIn(line) : std::set<core::Uid>{});
}

void NamedLines::write(core::Severity severity, const std::string& line,
                       const std::set<core::Uid>& people) {
    waiting_.push_back({severity, line, isNaming_ ? people : std::set<core::Uid>{}});
    const std::uint64_t number = first_ + waiting_.size() - 1;
    for (const core::Uid uid : std::set(waiting_.back().unnamed)) {
        users_.describe(uid, [this, alive = alive_, number](const core::UserInfo& user) {
            if (*alive)
                learn(number, user);
        });
    }
    passOn();
    if (waiting_.size() > maxWaiting)
        writeFirst();
}

void NamedLines::learn(std::uint64_t number, const core::UserInfo& user) {
    if (number < first_)
        return; // already written
    Waiting& line = waiting_.at(number - first_);
    nameUser(line.line, user.uid, user.name);
    line.unnamed.erase(user.uid);
    passOn();
}

void NamedLines::passOn() {
    while (!waiting_.empty() && waiting_.front().unnamed.empty())
        writeFirst();
}

void NamedLines::writeFirst() {
    const Waiting first = std::move(waiting_.front());
    waiting_.pop_front();
    ++first_;
    log_.write(first.severity, first.line);
}

} // namespace genv::service::journal
