// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/terminal.hpp"

#include "client/genvctl/exit_status.hpp"
#include "client/genvctl/text.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace genv::ctl {

namespace {

bool isColoured(int descriptor) {
    const char* unwanted = std::getenv("NO_COLOR");
    const char* terminal = std::getenv("TERM");
    return (unwanted == nullptr || *unwanted == '\0') &&
           (terminal == nullptr || std::strcmp(terminal, "dumb") != 0) && isatty(descriptor) == 1;
}

void tell(std::string_view colour, std::string_view kind, std::string_view what,
          std::string_view hint) {
    const bool coloured = isColoured(STDERR_FILENO);
    std::string text = fmt::format("{}genvctl:{} {}{}\n", coloured ? colour : "",
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
    // Nobody is left to be told when this fails.
    [[maybe_unused]] const std::size_t written = std::fwrite(text.data(), 1, text.size(), stderr);
}

Emphasis headerEmphasis() {
    if (!isColoured(STDOUT_FILENO))
        return {};
    return {"\x1b[1m", "\x1b[0m"};
}

void complain(std::string_view what, std::string_view hint) {
    tell("\x1b[1;31m", "", what, hint);
}

void warn(std::string_view what, std::string_view hint) {
    tell("\x1b[1;33m", "warning: ", what, hint);
}

} // namespace genv::ctl
