// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/shell/shims_folder.hpp"

#include "client/search_path.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <vector>

namespace genv::ctl {

namespace {

bool hasProgram(const std::vector<std::string>& folders, const std::string& name) {
    return std::any_of(folders.begin(), folders.end(), [&](const std::string& folder) {
        std::error_code error;
        const std::string file = folder + '/' + name;
        return access(file.c_str(), X_OK) == 0 && std::filesystem::is_regular_file(file, error);
    });
}

} // namespace

// shims/CMakeLists.txt creates the folders. In a build without shims, the folder named here does
// not exist and only marks a shell as active.
std::string shimsFolder() {
    std::string base = GENV_SHIMS_FOLDER;
    const std::vector<std::string> folders = client::searchFolders();
    for (const char* kind : {"", "-docker", "-podman", "-plain"}) {
        if (std::find(folders.begin(), folders.end(), base + kind) != folders.end())
            return base + kind;
    }
    const bool hasDocker = hasProgram(folders, "docker");
    const bool hasPodman = hasProgram(folders, "podman");
    if (hasDocker && hasPodman)
        return base;
    return base + (hasDocker ? "-docker" : hasPodman ? "-podman" : "-plain");
}

void putShimsFirst() {
    setenv("PATH", fmt::format("{}:{}", shimsFolder(), client::searchPath()).c_str(), 1);
}

} // namespace genv::ctl
