// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/settings/dynamic_uids.hpp"

namespace genv::core {

bool DynamicUids::ask(Uid uid, Sign sign, BootTime now) {
    if (uid < dynamicUids.first || uid > dynamicUids.last)
        return false;
    if (sign == Sign::GpuUse && people_.contains(uid))
        return false; // askAgain() asks about them
    const BootTime::duration pause =
        sign == Sign::Login ? BootTime::duration{afterLogin} : BootTime::duration{afterGpuUse};
    return begin(uid, pause, now);
}

std::vector<Uid> DynamicUids::askAgain(BootTime now) {
    std::vector<Uid> due;
    for (const Uid uid : people_) {
        if (begin(uid, afterGpuUse, now))
            due.push_back(uid);
    }
    return due;
}

bool DynamicUids::begin(Uid uid, BootTime::duration pause, BootTime now) {
    const auto asked = asked_.find(uid);
    if (asked != asked_.end() && now < asked->second + pause)
        return false;
    if (!pending_.insert(uid).second)
        return false;
    asked_[uid] = now;
    return true;
}

bool DynamicUids::learn(Uid uid, Answer answer) {
    pending_.erase(uid);
    switch (answer) {
    case Answer::Service:
        return people_.erase(uid) > 0;
    case Answer::Person:
        return people_.insert(uid).second;
    case Answer::None:
        break;
    }
    return false;
}

} // namespace genv::core
