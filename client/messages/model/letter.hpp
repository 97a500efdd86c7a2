// SPDX-License-Identifier: LGPL-2.1-or-later
// One message about one event or several, in words. It goes out as mail, to a webhook or to a
// command.
#pragma once

#include "client/messages/model/message_event.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace genv::messages {

/// What a message is made of.
struct Contents {
    std::string machine;              ///< its name
    std::vector<MessageEvent> events; ///< oldest first, at least one
    std::size_t missing = 0; ///< further ones that were dropped because there were too many
    bool names = true;       ///< whether names of jobs and environments are part of it
};

struct Letter {
    std::string title;              ///< "gpu1: Job 17 failed"; one line
    std::vector<std::string> lines; ///< a sentence for each event; at most 20 and a remark
    bool isUrgent = false;
};

/// Returns "Job 17 (sweep): exit status 1 (2 GPUs, 2h 3min)".
std::string sentenceOf(const MessageEvent& event, bool names);

Letter letterOf(const Contents& contents);
/// Returns the lines of a letter, each with a line end.
std::string textOf(const Letter& letter);
/// Returns the message as a JSON object, for programs. messages.md describes its members.
std::string jsonOf(const Contents& contents);

} // namespace genv::messages
