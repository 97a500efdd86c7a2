// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/shell_code.hpp"

#include "client/genvctl/exit_status.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace genv::ctl {

std::string shellQuoted(std::string_view text) {
    std::string word = "'";
    for (const char c : text) {
        if (c == '\'')
            word += "'\\''";
        else
            word += c;
    }
    return word + '\'';
}

void ShellCode::enter(std::string_view prompt, std::string_view shims) {
    line("__genv_enter", {prompt, shims});
}

void ShellCode::leave(std::string_view shims) {
    line("__genv_leave", {shims});
}

void ShellCode::set(const std::vector<Variable>& variables) {
    for (const Variable& variable : variables) {
        if (variable.value)
            line("__genv_set", {variable.name, *variable.value});
        else
            line("__genv_unset", {variable.name});
    }
}

void ShellCode::send(int descriptor) const {
    std::string_view rest = text_;
    while (!rest.empty()) {
        const ssize_t written = write(descriptor, rest.data(), rest.size());
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            throw Failure(ExitStatus::Failed,
                          fmt::format("The shell could not be told: {}", std::strerror(errno)));
        rest.remove_prefix(static_cast<std::size_t>(written));
    }
}

void ShellCode::line(std::string_view function, std::initializer_list<std::string_view> words) {
    text_ += function;
    for (const std::string_view word : words)
        text_ += ' ' + shellQuoted(word);
    text_ += '\n';
}

} // namespace genv::ctl
