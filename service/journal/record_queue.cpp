// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/journal/record_queue.hpp"

#include <algorithm>
#include <utility>

namespace genv::service::journal {

RecordQueue::RecordQueue(core::Users& users, Sink& sink) : users_(users), sink_(sink) {}

RecordQueue::~RecordQueue() {
    *alive_ = false;
    while (!waiting_.empty())
        writeFirst();
}

void RecordQueue::push(Record record, std::optional<core::Uid> owner,
                       const std::optional<core::Actor>& caller) {
    if (!sink_.takesFields()) {
        sink_.write(std::move(record));
        return;
    }
    Waiting next{std::move(record), {}};
    if (owner) {
        next.record.add(field::uid, std::uint64_t{*owner});
        next.people.push_back({field::user, *owner, std::nullopt});
    }
    if (caller) {
        next.record.add(field::callerUid, std::uint64_t{caller->uid});
        next.people.push_back({field::callerUser, caller->uid, std::nullopt});
    }
    if (caller && caller->login) {
        next.record.add(field::callerLogin, std::uint64_t{*caller->login});
        next.people.push_back({field::callerLoginUser, *caller->login, std::nullopt});
    }
    const auto people = next.people;
    waiting_.push_back(std::move(next));
    const std::uint64_t number = first_ + waiting_.size() - 1;
    for (const Person& person : people) {
        users_.describe(person.uid, [this, alive = alive_, number,
                                     field = person.field](const core::UserInfo& user) {
            if (*alive)
                learn(number, field, user.name);
        });
    }
    passOn();
    if (waiting_.size() > maxWaiting)
        writeFirst();
}

void RecordQueue::learn(std::uint64_t number, std::string_view field, const std::string& name) {
    if (number < first_)
        return; // already written
    for (Person& person : waiting_.at(number - first_).people) {
        if (person.field == field)
            person.name = name;
    }
    passOn();
}

void RecordQueue::passOn() {
    const auto isNamed = [](const Person& person) { return person.name.has_value(); };
    while (!waiting_.empty() &&
           std::all_of(waiting_.front().people.begin(), waiting_.front().people.end(), isNamed))
        writeFirst();
}

void RecordQueue::writeFirst() {
    Waiting first = std::move(waiting_.front());
    waiting_.pop_front();
    ++first_;
    for (const Person& person : first.people) {
        first.record.add(person.field, person.name.value_or(std::to_string(person.uid)));
        if (person.name)
            first.record.nameUser(person.uid, *person.name);
    }
    sink_.write(std::move(first.record));
}

} // namespace genv::service::journal
