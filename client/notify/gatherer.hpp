// SPDX-License-Identifier: LGPL-2.1-or-later
// Gathers what the service tells, so that many notices at once become one message, and a message
// that is still new when more of the same happens is told again with all of it. What is kept is
// bounded.
#pragma once

#include "client/notify/message.hpp"

#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace genv::notify {

class Gatherer {
  public:
    /// What is heard this soon after the last notice of a subject belongs to the same message.
    static constexpr std::chrono::seconds together{10};
    /// So many notices of a subject are kept; of the others only how many they are.
    static constexpr std::size_t most = 64;

    /// `repeats`: a later message of a subject says again what an earlier one has, because it takes
    /// its place.
    explicit Gatherer(bool repeats) : repeats_(repeats) {}

    /// Takes a notice in. False for one that nobody needs to be told of.
    bool add(const Notice& notice, core::WallTime now);
    /// The messages of the subjects that have changed since the last time.
    std::vector<Message> take(core::WallTime now);
    /// Somebody has seen the message, or it is gone: what comes next is a new one.
    void forget(const std::string& subject) { subjects_.erase(subject); }

  private:
    struct Subject {
        std::vector<Heard> heard;
        std::size_t missing = 0;
        core::WallTime last;
        bool isNew = true; ///< it has changed since the last time
    };

    const bool repeats_;
    std::map<std::string, Subject> subjects_;
};

} // namespace genv::notify
