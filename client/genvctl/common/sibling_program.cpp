// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/common/sibling_program.hpp"

#include "client/genvctl/common/exit_status.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace genv::ctl {

std::string siblingPath(const SiblingProgram& program) {
    std::error_code error;
    const auto own = std::filesystem::read_symlink("/proc/self/exe", error);
    if (auto beside = own.parent_path() / program.name; access(beside.c_str(), X_OK) == 0)
        return beside; // where it is built
    return program.installed;
}

void becomeSibling(const SiblingProgram& program, std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), siblingPath(program));
    std::vector<char*> words;
    words.reserve(arguments.size() + 1);
    for (std::string& argument : arguments)
        words.push_back(argument.data());
    words.push_back(nullptr);
    execv(words.front(), words.data());
    throw Failure(ExitStatus::Failed,
                  fmt::format("{} {} cannot be started: {}", program.what, arguments.front(),
                              std::strerror(errno)),
                  fmt::format("Install the package {}, or genv completely.", program.package));
}

} // namespace genv::ctl
