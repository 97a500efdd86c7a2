// SPDX-License-Identifier: LGPL-2.1-or-later
// What is asked before something is done.
#pragma once

#include "client/top/keys.hpp"

namespace genv::top {

/// Begins what a letter stands for ("d", "t", "a", "w", "e" or "c"): a question, or a message that
/// says why it cannot be. Another letter does nothing.
void beginPrompt(Choice& choice, const Frame& frame, char32_t letter);

/// Takes the key that answers the question, or for one with an input ends it; returns the request
/// that follows, unless there is another question or none.
std::optional<Request> answerPrompt(Choice& choice, const Frame& frame, const Key& key);

} // namespace genv::top
