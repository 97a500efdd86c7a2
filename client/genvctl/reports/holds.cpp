// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/reports/holds.hpp"

#include <algorithm>

namespace genv::ctl {

namespace {

// Returns the beginning of the reported state. Returns nothing if the event does not contain it, or
// if it is later than the event.
std::optional<Time> beginningOf(const HistoryEvent& event) {
    return event.since && *event.since <= event.time ? event.since : std::nullopt;
}

// The time of a journal record is the time at which it was written, which is later than the event.
Time endOf(const HistoryEvent& event) {
    const auto begin = beginningOf(event);
    if (begin && event.held && *event.held < event.time - *begin)
        return *begin + *event.held;
    return event.time;
}

} // namespace

void Holds::add(const HistoryEvent& event) {
    if (!event.environment)
        return;
    if (event.kind == "environment-ended") {
        environmentEnded(event);
        return;
    }
    for (const std::string& uuid : event.uuids) {
        const Key key{*event.environment, uuid};
        if (event.kind == "attached")
            attached(event, key);
        else if (event.kind == "detached")
            detached(event, key);
        else if (event.kind == "in-use")
            used(event, key, Use::Used);
        else if (event.kind == "idle")
            used(event, key, Use::Idle);
    }
}

void Holds::attached(const HistoryEvent& event, const Key& key) {
    const Time begin = beginningOf(event).value_or(event.time);
    const auto found = open_.find(key);
    if (found != open_.end() && begin <= found->second.hold.begin())
        return; // reported twice
    // The end of an earlier attachment that is still open is missing.
    close(key, begin);
    Open& opened = open(key, begin, Use::Idle);
    opened.lastSeen = event.time;
    know(opened.hold, event);
}

void Holds::detached(const HistoryEvent& event, const Key& key) {
    if (const auto begin = beginningOf(event))
        endAt(key, *begin, endOf(event));
    else
        close(key, event.time);
    for (auto hold = closed_.rbegin(); hold != closed_.rend(); ++hold) {
        if (hold->environment == key.first && hold->uuid == key.second) {
            know(*hold, event);
            break;
        }
    }
}

void Holds::used(const HistoryEvent& event, const Key& key, Use use) {
    const Time at = beginningOf(event).value_or(event.time);
    auto found = open_.find(key);
    if (found == open_.end()) {
        open(key, at, use).beginsEarlier = true;
        found = open_.find(key);
    }
    Open& opened = found->second;
    know(opened.hold, event);
    opened.lastSeen = event.time;
    UseSpan& last = opened.hold.spans.back();
    if (last.use == use)
        return;
    last.end = std::max(at, last.begin);
    opened.hold.spans.push_back({last.end, last.end, use});
}

void Holds::environmentEnded(const HistoryEvent& event) {
    std::vector<Key> keys;
    for (const auto& [key, opened] : open_) {
        if (key.first == *event.environment)
            keys.push_back(key);
    }
    for (const Key& key : keys)
        close(key, event.time);
}

Holds::Open& Holds::open(const Key& key, Time begin, Use use) {
    Open& opened = open_[key];
    opened = {{key.first, key.second, std::nullopt, {}, {{begin, begin, use}}}, begin, false};
    return opened;
}

void Holds::close(const Key& key, Time end) {
    auto node = open_.extract(key);
    if (node.empty())
        return;
    Hold& hold = node.mapped().hold;
    hold.spans.back().end = std::max(end, hold.spans.back().begin);
    Time& ended = ended_[key];
    ended = std::max(ended, hold.end());
    closed_.push_back(std::move(hold));
}

// Ends an attachment whose beginning is reported as well.
void Holds::endAt(const Key& key, Time begin, Time end) {
    auto found = open_.find(key);
    if (found != open_.end() && begin > found->second.lastSeen) {
        // This is not the open attachment: that one has ended, and this one has begun, without an
        // event.
        close(key, found->second.lastSeen);
        found = open_.end();
    }
    if (found == open_.end()) {
        if (hasEndedAfter(key, begin))
            return; // already reported by the end of its environment
        open(key, begin, Use::Unknown);
    } else if (found->second.beginsEarlier && begin < found->second.hold.begin()) {
        auto& spans = found->second.hold.spans;
        spans.insert(spans.begin(), {begin, spans.front().begin, Use::Unknown});
    }
    close(key, end);
}

bool Holds::hasEndedAfter(const Key& key, Time begin) const {
    const auto ended = ended_.find(key);
    return ended != ended_.end() && ended->second > begin;
}

void Holds::know(Hold& hold, const HistoryEvent& event) {
    if (event.uid)
        hold.uid = event.uid;
    if (event.user)
        hold.user = *event.user;
}

std::vector<Hold> Holds::finish(const std::vector<HeldNow>& held, Time now) {
    for (const HeldNow& each : held) {
        const Key key{each.environment, each.uuid};
        const std::size_t before = closed_.size();
        endAt(key, each.since, now);
        if (closed_.size() > before) {
            closed_.back().uid = each.uid;
            closed_.back().user = each.user;
        }
    }
    while (!open_.empty()) {
        const auto& [key, opened] = *open_.begin();
        close(Key(key), Time(opened.lastSeen));
    }
    return std::move(closed_);
}

} // namespace genv::ctl
