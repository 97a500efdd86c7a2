// SPDX-License-Identifier: LGPL-2.1-or-later
// Determines where a program is searched by its name, in agreement with execvp(3). Used by the
// programs below client/ and the shims.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace genv::client {

/// Returns $PATH. Without that variable, as in a cron job or a unit, it returns the system's
/// default.
inline std::string searchPath() {
    if (const char* path = std::getenv("PATH"))
        return path;
    std::string path(confstr(_CS_PATH, nullptr, 0), '\0');
    confstr(_CS_PATH, path.data(), path.size());
    path.resize(path.empty() ? 0 : path.size() - 1); // the terminating zero
    return path;
}

/// Returns the folders of a search path, in its order. An empty entry becomes the current folder,
/// ".".
inline std::vector<std::string> searchFolders(std::string_view path) {
    std::vector<std::string> folders;
    for (std::size_t begin = 0; begin <= path.size();) {
        const std::size_t end = std::min(path.find(':', begin), path.size());
        folders.emplace_back(end == begin ? "." : path.substr(begin, end - begin));
        begin = end + 1;
    }
    return folders;
}

/// Returns the folders of searchPath().
inline std::vector<std::string> searchFolders() {
    return searchFolders(searchPath());
}

} // namespace genv::client
