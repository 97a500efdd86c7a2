// SPDX-License-Identifier: LGPL-2.1-or-later
// The places where genvctl looks for files of this machine and of the user who runs it.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace genv::ctl {

struct SystemPlaces {
    std::filesystem::path root = "/";           ///< the prefix of all absolute paths
    std::filesystem::path home;                 ///< the home of the user; empty if unknown
    std::string searchPath;                     ///< as client::searchPath()
    std::vector<std::filesystem::path> pythons; ///< active Python environments, such as conda's
    bool everybody = false; ///< whether to search the homes of all users, as root may

    /// Returns the places of this process.
    static SystemPlaces own();
    /// Returns the actual location of an absolute path.
    [[nodiscard]] std::filesystem::path at(std::string_view absolute) const;
    /// Returns the homes to search, that of the user first.
    [[nodiscard]] std::vector<std::filesystem::path> homes() const;
};

} // namespace genv::ctl
