// SPDX-License-Identifier: LGPL-2.1-or-later
// Collects notices, so that many notices at once become one message. If more notices of the same
// subject arrive while a message is new, the message is repeated with all of them. The number of
// stored notices is limited.
#pragma once

#include "client/notify/desktop_notification.hpp"

#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace genv::notify {

class Gatherer {
  public:
    /// A notice that arrives this soon after the last one of its subject belongs to the same
    /// message.
    static constexpr std::chrono::seconds together{10};
    /// The number of notices stored for each subject. Further notices are only counted.
    static constexpr std::size_t maxNotices = 64;

    /// `repeats`: a later message of a subject repeats the content of an earlier one, because it
    /// replaces that message.
    explicit Gatherer(bool repeats) : repeats_(repeats) {}

    /// Adds a notice. Returns false if it is not shown to users.
    bool add(const Notice& notice, core::WallTime now);
    /// Returns the messages of all subjects that have changed since the last call.
    std::vector<DesktopNotification> take(core::WallTime now);
    /// Forgets a message that the user has seen or that is gone. The next notice starts a new
    /// message.
    void forget(const std::string& subject) { subjects_.erase(subject); }

  private:
    struct Subject {
        std::vector<ReceivedNotice> received;
        std::size_t missing = 0;
        core::WallTime last;
        bool isNew = true; ///< whether it has changed since the last call of take()
    };

    const bool repeats_;
    std::map<std::string, Subject> subjects_;
};

} // namespace genv::notify
