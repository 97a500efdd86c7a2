// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/terminal/terminal.hpp"

#include "client/genvctl/common/exit_status.hpp"
#include "client/genvctl/terminal/terminal_text.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>

namespace genv::ctl {

namespace {

// Whether the terminal supports control sequences. A terminal without TERM does not.
bool isCapable(int descriptor) {
    const char* terminal = std::getenv("TERM");
    return terminal != nullptr && *terminal != '\0' && std::strcmp(terminal, "dumb") != 0 &&
           isatty(descriptor) == 1;
}

bool isColoured(int descriptor) {
    const char* unwanted = std::getenv("NO_COLOR");
    return (unwanted == nullptr || *unwanted == '\0') && isCapable(descriptor);
}

// Returns the name of the program as it was called: genv is a link to genvctl.
std::string_view program() {
    return std::strcmp(program_invocation_short_name, "genv") == 0 ? "genv" : "genvctl";
}

std::optional<std::size_t> widthOf(int descriptor) {
    if (isatty(descriptor) != 1)
        return std::nullopt;
    if (const char* columns = std::getenv("COLUMNS")) {
        const auto number = parseNumber(columns);
        if (number && *number > 0)
            return *number;
    }
    winsize size{};
    constexpr std::size_t usual = 80;
    return ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : usual;
}

std::string beforeMessage() {
    return fmt::format("{}: ", program());
}

void printMessage(std::string_view colour, std::string_view kind, std::string_view what,
                  std::string_view hint) {
    const bool coloured = isColoured(STDERR_FILENO);
    std::string text = fmt::format("{}{}:{} {}{}\n", coloured ? colour : "", program(),
                                   coloured ? "\x1b[0m" : "", kind, shown(what));
    if (!hint.empty())
        text += shown(hint) + '\n';
    printAside(text);
}

} // namespace

void print(std::string_view text) {
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
        throw Failure(ExitStatus::Failed,
                      fmt::format("The result could not be written: {}", std::strerror(errno)));
}

void printAside(std::string_view text) {
    // There is no other place to report a failure.
    [[maybe_unused]] const std::size_t written = std::fwrite(text.data(), 1, text.size(), stderr);
}

void printNote(std::string_view what) {
    printAside(fmt::format("{}{}\n", beforeMessage(), shown(what)));
}

void printNoteForPerson(std::string_view what) {
    if (isatty(STDERR_FILENO) != 0)
        printNote(what);
}

bool canRewriteAside() {
    return isCapable(STDERR_FILENO);
}

// The last cell stays free, because some terminals wrap the line when it is written.
std::size_t asideWidth() {
    const std::size_t taken = beforeMessage().size() + 1;
    const std::size_t width = widthOf(STDERR_FILENO).value_or(0);
    return width > taken ? width - taken : 0;
}

void rewriteAside(std::string_view what) {
    printAside(fmt::format("\r{}{}\x1b[K", beforeMessage(), shortened(shown(what), asideWidth())));
}

void clearAside() noexcept {
    std::fputs("\r\x1b[K", stderr);
}

std::optional<std::size_t> terminalWidth() {
    return widthOf(STDOUT_FILENO);
}

void guardStandardDescriptors() {
    for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (fcntl(descriptor, F_GETFD) >= 0 || errno != EBADF)
            continue;
        // open() returns the lowest free descriptor, which is this one.
        [[maybe_unused]] const int opened =
            open("/dev/null", (descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
    }
}

HeaderEmphasis headerEmphasis() {
    if (!isColoured(STDOUT_FILENO))
        return {};
    return {"\x1b[1m", "\x1b[0m"};
}

void complain(std::string_view what, std::string_view hint) {
    printMessage("\x1b[1;31m", "", what, hint);
}

void warn(std::string_view what, std::string_view hint) {
    printMessage("\x1b[1;33m", "warning: ", what, hint);
}

} // namespace genv::ctl
