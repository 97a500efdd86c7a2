// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/reports/parked_times.hpp"

#include <algorithm>

namespace genv::ctl {

void ParkedTimes::add(const HistoryEvent& event) {
    if (!event.environment)
        return;
    const std::string& environment = *event.environment;
    if (event.kind == "parked") {
        for (const std::string& uuid : event.uuids)
            open_.insert_or_assign(Key{environment, uuid},
                                   ParkedTime{environment, uuid, event.uid, event.user.value_or(""),
                                              event.time, event.time, event.reason == "taken"});
    } else if (event.kind == "attached") {
        for (const std::string& uuid : event.uuids)
            close({environment, uuid}, event.time);
    } else if (event.kind == "environment-ended") {
        const auto first = open_.lower_bound(Key{environment, ""});
        std::vector<Key> keys;
        for (auto at = first; at != open_.end() && at->first.first == environment; ++at)
            keys.push_back(at->first);
        for (const Key& key : keys)
            close(key, event.time);
    }
}

std::vector<ParkedTime> ParkedTimes::finish(const std::vector<std::string>& parkedNow, Time now) {
    while (!open_.empty()) {
        const auto& [key, time] = *open_.begin();
        const bool goesOn = std::ranges::find(parkedNow, key.first) != parkedNow.end();
        close(Key(key), goesOn ? now : time.end);
    }
    return std::move(closed_);
}

void ParkedTimes::close(const Key& key, Time end) {
    auto found = open_.extract(key);
    if (found.empty())
        return;
    found.mapped().end = std::max(end, found.mapped().begin);
    closed_.push_back(std::move(found.mapped()));
}

} // namespace genv::ctl
