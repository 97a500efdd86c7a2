// SPDX-License-Identifier: LGPL-2.1-or-later
// Messages as lines on standard output.
#pragma once

#include "client/notify/message.hpp"

#include <cstddef>
#include <string>

namespace genv::notify {

/// Where and how lines are written.
struct TerminalStyle {
    std::size_t width = 0; ///< 0: as long as they are
    bool isColoured = false;
};

/// How standard output is: a terminal is wrapped to its width, and coloured unless NO_COLOR is set.
TerminalStyle currentStyle();

/// The message as text, with its line ends.
std::string terminalText(const Message& message, core::WallTime now, const TerminalStyle& style);

/// Writes text to standard output. False when nobody reads it any more.
bool writeOut(const std::string& text);

} // namespace genv::notify
