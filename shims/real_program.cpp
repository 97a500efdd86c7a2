// SPDX-License-Identifier: LGPL-2.1-or-later
#include "shims/real_program.hpp"

#include "client/search_path.hpp"
#include "shims/printable.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace genv::shims {

namespace {

constexpr int notExecutable = 126;
constexpr int notFound = 127;

bool isProgram(const std::filesystem::path& file) {
    std::error_code error;
    return std::filesystem::is_regular_file(file, error) && access(file.c_str(), X_OK) == 0;
}

bool isSameFolder(const std::filesystem::path& one, const std::filesystem::path& other) {
    std::error_code error;
    return std::filesystem::equivalent(one, other, error);
}

// The shims of another installation of genv also count as shims: otherwise the two would execute
// each other forever. Folders with only some of the shims contain links to them.
bool isShim(const std::filesystem::path& file, const std::filesystem::path& own) {
    std::error_code error;
    const std::filesystem::path folder = std::filesystem::canonical(file, error).parent_path();
    return isSameFolder(folder, own) ||
           (folder.filename() == "shims" && folder.parent_path().filename() == "genv");
}

} // namespace

bool isBypassed() {
    const char* bypass = std::getenv("GENV_BYPASS");
    return bypass != nullptr && std::strcmp(bypass, "1") == 0;
}

std::string ownFolder() {
    return std::filesystem::read_symlink("/proc/self/exe").parent_path();
}

std::optional<std::string> findRealProgram(const std::string& name,
                                           const std::string& shimsFolder) {
    for (const std::string& folder : client::searchFolders()) {
        const std::filesystem::path file = std::filesystem::path(folder) / name;
        if (isProgram(file) && !isShim(file, shimsFolder))
            return file;
    }
    return std::nullopt;
}

void executeReal(const std::string& name, const std::vector<std::string>& arguments) {
    const auto program = findRealProgram(name, ownFolder());
    if (!program) {
        fmt::print(stderr,
                   "genv: cannot find the real {0}. Install it, or add its folder to PATH.\n",
                   name);
        std::exit(notFound);
    }
    std::vector<char*> words{const_cast<char*>(name.c_str())}; // execv() does not modify them
    for (const std::string& argument : arguments)
        words.push_back(const_cast<char*>(argument.c_str()));
    words.push_back(nullptr);
    execv(program->c_str(), words.data());
    fmt::print(stderr, "genv: {}: {}\n", printable(*program), std::strerror(errno));
    std::exit(notExecutable);
}

} // namespace genv::shims
