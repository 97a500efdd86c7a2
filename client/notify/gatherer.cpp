// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/notify/gatherer.hpp"

namespace genv::notify {

bool Gatherer::add(const Notice& notice, core::WallTime now) {
    const auto key = subjectOf(notice);
    if (!key)
        return false;
    Subject& subject = subjects_[*key];
    if (!subject.isNew && (!repeats_ || now - subject.last > together))
        subject = Subject{};
    subject.last = now;
    subject.isNew = true;
    if (subject.received.size() < maxNotices)
        subject.received.push_back({notice, now});
    else
        ++subject.missing;
    return true;
}

std::vector<DesktopNotification> Gatherer::take(core::WallTime now) {
    std::vector<DesktopNotification> messages;
    for (auto& [key, subject] : subjects_) {
        if (subject.isNew)
            messages.push_back(compose(key, subject.received, subject.missing));
        subject.isNew = false;
    }
    std::erase_if(subjects_,
                  [&](const auto& each) { return !repeats_ || now - each.second.last > together; });
    return messages;
}

} // namespace genv::notify
