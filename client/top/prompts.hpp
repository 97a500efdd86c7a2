// SPDX-License-Identifier: LGPL-2.1-or-later
// The questions before an action.
#pragma once

#include "client/top/keys.hpp"

namespace genv::top {

/// Begins the action of a letter ("d", "t", "a", "w", "e" or "c"): with a question, or with a
/// message about why it is impossible. Other letters do nothing.
void beginPrompt(Choice& choice, const Frame& frame, char32_t letter);

/// Handles the key that answers the question or ends its input. Returns the resulting request, if
/// there is one.
std::optional<Request> answerPrompt(Choice& choice, const Frame& frame, const Key& key);

} // namespace genv::top
