// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/notify/terminal_lines.hpp"

#include "core/base/time.hpp"

#include <fmt/chrono.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace genv::notify {

namespace {

constexpr std::size_t leastWidth = 40; // lines are never wrapped to a smaller width
constexpr std::string_view indentation = "    ";

std::string timeOfDay(core::WallTime now) {
    return fmt::format("{:%H:%M:%S}", core::localTime(now));
}

// Returns the approximate number of terminal cells of a text: bytes that continue a character count
// as none.
std::size_t cells(std::string_view text) {
    std::size_t count = 0;
    for (const char byte : text)
        count += (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U ? 1 : 0;
    return count;
}

// Wraps text to lines of this width. A word that is longer than a line gets its own line.
std::string wrapped(std::string_view text, std::size_t width) {
    std::string result;
    std::size_t column = 0;
    while (!text.empty()) {
        const std::string_view word = text.substr(0, text.find(' '));
        text.remove_prefix(std::min(text.size(), word.size() + 1));
        const std::size_t size = cells(word);
        if (column > 0 && width > 0 && column + 1 + size > width) {
            result += '\n';
            result += indentation;
            column = indentation.size();
        } else if (!result.empty()) {
            result += ' ';
            ++column;
        }
        result += word;
        column += size;
    }
    return result;
}

const char* colourOf(Urgency urgency) {
    switch (urgency) {
    case Urgency::Critical:
        return "\x1b[1;31m";
    case Urgency::Normal:
        return "\x1b[1;33m";
    case Urgency::Low:
        break;
    }
    return "\x1b[1m";
}

} // namespace

TerminalStyle currentStyle() {
    if (isatty(STDOUT_FILENO) != 1)
        return {};
    TerminalStyle style{80, false};
    winsize size{};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= leastWidth)
        style.width = size.ws_col;
    const char* unwanted = std::getenv("NO_COLOR");
    const char* terminal = std::getenv("TERM");
    style.isColoured = (unwanted == nullptr || *unwanted == '\0') && terminal != nullptr &&
                       *terminal != '\0' && std::strcmp(terminal, "dumb") != 0;
    return style;
}

std::string terminalText(const DesktopNotification& message, core::WallTime now,
                         const TerminalStyle& style) {
    constexpr std::string_view program = "genv:";
    std::string text = timeOfDay(now) + ' ' + std::string(program);
    for (const std::string& sentence : message.sentences)
        text += ' ' + sentence;
    if (!message.hint.empty())
        text += ' ' + message.hint;
    text = wrapped(text, style.width);
    if (style.isColoured) {
        const std::size_t at = text.find(program);
        text.insert(at + program.size(), "\x1b[0m");
        text.insert(at, colourOf(message.urgency));
    }
    return text + '\n';
}

bool writeOut(const std::string& text) {
    for (std::string_view rest = text; !rest.empty();) {
        const ssize_t count = ::write(STDOUT_FILENO, rest.data(), rest.size());
        if (count < 0 && errno != EINTR)
            return false;
        rest.remove_prefix(count > 0 ? static_cast<std::size_t>(count) : 0);
    }
    return true;
}

} // namespace genv::notify
