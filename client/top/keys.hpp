// SPDX-License-Identifier: LGPL-2.1-or-later
// The effect of keys: a state machine over the choice, without a terminal and without the service.
#pragma once

#include "client/top/choice.hpp"
#include "client/top/frame.hpp"

#include <optional>

namespace genv::top {

struct Key {
    enum class Kind {
        Character,
        Up,
        Down,
        PageUp,
        PageDown,
        Home,
        End,
        Enter,
        Escape,
        Backspace,
        ClearLine, ///< Ctrl-U
        Click,     ///< on a row
        ClickAside ///< anywhere else
    };
    Kind kind = Kind::Character;
    char32_t character = 0;   ///< of Character
    std::optional<Item> item; ///< of Click
};

/// The effect of a key besides another page.
struct Outcome {
    bool quits = false;
    std::optional<Request> request;
};

Outcome press(Choice& choice, const Frame& frame, const Key& key);

} // namespace genv::top
