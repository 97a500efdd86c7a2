// SPDX-License-Identifier: LGPL-2.1-or-later
// Places says where genvctl looks for things of this machine and of the person who runs it.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace genv::ctl {

struct Places {
    std::filesystem::path root = "/";           ///< what every absolute path is below
    std::filesystem::path home;                 ///< the person's; empty: unknown
    std::string searchPath;                     ///< as client::searchPath()
    std::vector<std::filesystem::path> pythons; ///< active Python environments, such as conda's
    bool everybody = false; ///< the homes of all users are looked at, too, as root may

    /// Those of this process.
    static Places own();
    /// Where an absolute path is.
    [[nodiscard]] std::filesystem::path at(std::string_view absolute) const;
    /// The homes that are looked at, the person's first.
    [[nodiscard]] std::vector<std::filesystem::path> homes() const;
};

} // namespace genv::ctl
