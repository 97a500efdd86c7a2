// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/shell/login_shell.hpp"

#include "client/genvctl/shell/execution.hpp"
#include "client/genvctl/shell/shell_code.hpp"
#include "client/genvctl/terminal/terminal.hpp"
#include "core/base/user_database.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <vector>

namespace genv::ctl {

namespace {

// The folder of these start files, below a folder of shared data.
constexpr const char* loginFolder = "genv/login";

// The variables of the activation in which this process was started. The new shell must not inherit
// them.
constexpr std::array inheritedVariables{"GENV_SHELL",
                                        "GENV_ENVIRONMENT_ID",
                                        "GENV_ENVIRONMENT_CREATED",
                                        "GENV_ENVIRONMENT_NAME",
                                        "GENV_GPU_MEMORY",
                                        "GENV_GPUS",
                                        "GENV_STATUS_FILE",
                                        "CUDA_VISIBLE_DEVICES",
                                        "CUDA_DEVICE_ORDER",
                                        "GENV_PREACTIVATE",
                                        "GENV_PREACTIVATE_GPUS",
                                        "GENV_PREACTIVATE_ENVIRONMENT_NAME",
                                        "GENV_PREACTIVATE_PROMPT"};

std::string ownProgram() {
    std::error_code error;
    const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
    return error ? "genvctl" : program.string();
}

// Prefers the folder next to the program, wherever the program was installed or built.
std::optional<std::filesystem::path> startFiles(const std::string& program) {
    const auto beside = std::filesystem::path(program).parent_path().parent_path() / "share";
    for (const std::filesystem::path& data : {beside, std::filesystem::path(GENV_DATA_FOLDER)}) {
        const auto folder = data / loginFolder;
        if (access((folder / "bashrc").c_str(), R_OK) == 0)
            return folder;
    }
    return std::nullopt;
}

std::string activationCode(Shell shell, const std::string& program, const LoginShell& login) {
    const std::string word = shellQuoted(shell, program);
    const std::string name(nameOf(shell));
    return fmt::format("{}; genv activate --id {} --no-load{}{}",
                       shell == Shell::Fish
                           ? fmt::format("{} shell --init {} | source", word, name)
                           : fmt::format("eval \"$({} shell --init {})\"", word, name),
                       shellQuoted(shell, login.environment), login.noPrompt ? " --no-prompt" : "",
                       login.nvmlFilter ? " --nvml-filter" : "");
}

void forgetInherited() {
    // Without an activation, the user has set these variables.
    const bool wasActive = std::getenv("GENV_ENVIRONMENT_ID") != nullptr;
    for (const char* name : inheritedVariables) {
        if (wasActive || !std::string_view(name).starts_with("CUDA_"))
            unsetenv(name);
    }
}

[[noreturn]] void runKnown(Shell shell, const std::string& path, const std::string& code,
                           const std::filesystem::path& files) {
    forgetInherited();
    if (shell == Shell::Fish)
        execute({path, "-l", "-i", "-C", code});
    setenv("__genv_login", code.c_str(), 1);
    if (shell == Shell::Bash)
        execute({path, "--rcfile", files / "bashrc", "-i"});
    if (const char* folder = std::getenv("ZDOTDIR"))
        setenv("__genv_zdotdir", folder, 1);
    setenv("ZDOTDIR", (files / "zsh").c_str(), 1);
    execute({path, "-l", "-i"});
}

} // namespace

std::string ownShell() {
    if (const char* shell = std::getenv("SHELL"); shell != nullptr && *shell == '/')
        return shell;
    if (const auto user = core::shownUser(geteuid()); user && !user->shell.empty())
        return user->shell;
    return "/bin/sh";
}

void LoginShell::run(Client& client) const {
    const std::string path = ownShell();
    const std::string program = ownProgram();
    const auto shell = shellNamed(std::filesystem::path(path).filename().string());
    const auto files = startFiles(program);
    if (shell && (files || *shell == Shell::Fish))
        runKnown(*shell, path, activationCode(*shell, program, *this), files.value_or(""));
    if (shell)
        warn("genv's files for login shells are not installed; the shell has the variables only",
             "Install genv completely; \"genvctl shell --help\" explains how to set up a shell.");
    setOwnVariables(client, environment, nvmlFilter);
    execute({path, "-l"});
}

} // namespace genv::ctl
