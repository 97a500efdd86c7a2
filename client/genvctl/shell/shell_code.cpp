// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/shell/shell_code.hpp"

#include "client/genvctl/common/exit_status.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

namespace genv::ctl {

namespace {

constexpr std::array shells{std::pair{Shell::Bash, "bash"}, std::pair{Shell::Zsh, "zsh"},
                            std::pair{Shell::Fish, "fish"}};

} // namespace

std::string_view nameOf(Shell shell) {
    return std::find_if(shells.begin(), shells.end(),
                        [&](const auto& known) { return known.first == shell; })
        ->second;
}

std::optional<Shell> shellNamed(std::string_view name) {
    for (const auto& [shell, known] : shells) {
        if (name == known)
            return shell;
    }
    return std::nullopt;
}

std::string callingProgram() {
    std::ifstream file(fmt::format("/proc/{}/comm", getppid()));
    std::string name;
    std::getline(file, name);
    return name;
}

std::string setUpHint() {
    const std::optional<Shell> shell = shellNamed(callingProgram());
    if (shell == Shell::Fish)
        return "Run this first, or put it into config.fish: genvctl shell --init | source";
    return fmt::format("Run this first, or put it into {}: eval \"$(genvctl shell --init)\"",
                       shell == Shell::Zsh ? "~/.zshrc" : "~/.bashrc");
}

// In single quotes, bash and zsh take every character literally, and fish every character except
// the backslash.
std::string shellQuoted(Shell shell, std::string_view text) {
    std::string word = "'";
    for (const char c : text) {
        if (c == '\'')
            word += shell == Shell::Fish ? "\\'" : "'\\''";
        else if (c == '\\' && shell == Shell::Fish)
            word += "\\\\";
        else
            word += c;
    }
    return word + '\'';
}

void ShellCode::enter(std::string_view prompt, std::string_view shims) {
    calls_.push_back({"__genv_enter", std::string(prompt), std::string(shims)});
}

void ShellCode::leave(std::string_view shims) {
    // Shell functions of a version without GENV_ENVIRONMENT_CREATED do not restore it.
    calls_.push_back({"__genv_restore", "GENV_ENVIRONMENT_CREATED"});
    calls_.push_back({"__genv_leave", std::string(shims)});
}

void ShellCode::set(const std::vector<Variable>& variables) {
    for (const Variable& variable : variables) {
        if (variable.value)
            calls_.push_back({"__genv_set", variable.name, *variable.value});
        else
            calls_.push_back({"__genv_unset", variable.name});
    }
}

void ShellCode::watch(std::string_view statusFile, std::string_view firstLine) {
    calls_.push_back({"__genv_watch", std::string(statusFile), std::string(firstLine)});
}

void ShellCode::know(std::string_view number) {
    calls_.push_back({"__genv_know", std::string(number)});
}

std::string ShellCode::text(Shell shell) const {
    std::string text;
    for (const std::vector<std::string>& call : calls_) {
        text += call.front();
        for (auto word = call.begin() + 1; word != call.end(); ++word)
            text += ' ' + shellQuoted(shell, *word);
        text += '\n';
    }
    return text;
}

void ShellCode::send(Shell shell, int descriptor) const {
    const std::string whole = text(shell);
    std::string_view rest = whole;
    while (!rest.empty()) {
        const ssize_t written = write(descriptor, rest.data(), rest.size());
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            throw Failure(ExitStatus::Failed,
                          fmt::format("cannot inform the shell: {}", std::strerror(errno)));
        rest.remove_prefix(static_cast<std::size_t>(written));
    }
}

} // namespace genv::ctl
