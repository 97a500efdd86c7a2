// SPDX-License-Identifier: LGPL-2.1-or-later
// Writes messages as lines to standard output.
#pragma once

#include "client/notify/desktop_notification.hpp"

#include <cstddef>
#include <string>

namespace genv::notify {

/// The format of the lines.
struct TerminalStyle {
    std::size_t width = 0; ///< 0: no wrapping
    bool isColoured = false;
};

/// Returns the style for standard output: wrapped to the width of a terminal, and coloured unless
/// NO_COLOR is set.
TerminalStyle currentStyle();

/// Returns the message as text, with line ends.
std::string terminalText(const DesktopNotification& message, core::WallTime now,
                         const TerminalStyle& style);

/// Writes text to standard output. Returns false when the other end is closed.
bool writeOut(const std::string& text);

} // namespace genv::notify
