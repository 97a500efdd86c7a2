// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/doctor/system_places.hpp"

#include "client/search_path.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <system_error>

namespace genv::ctl {

namespace {

std::string valueOf(const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr ? value : "";
}

} // namespace

SystemPlaces SystemPlaces::own() {
    SystemPlaces places;
    places.home = valueOf("HOME");
    places.searchPath = client::searchPath();
    for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
        if (const std::string folder = valueOf(name); folder.starts_with('/'))
            places.pythons.emplace_back(folder);
    }
    places.everybody = geteuid() == 0;
    return places;
}

std::filesystem::path SystemPlaces::at(std::string_view absolute) const {
    return root / std::filesystem::path(absolute).relative_path();
}

std::vector<std::filesystem::path> SystemPlaces::homes() const {
    std::vector<std::filesystem::path> found;
    const auto add = [&](const std::filesystem::path& folder) {
        if (!folder.empty() && std::find(found.begin(), found.end(), folder) == found.end())
            found.push_back(folder);
    };
    add(home);
    if (!everybody)
        return found;
    add(at("/root"));
    std::error_code none;
    std::vector<std::filesystem::path> others;
    for (const auto& entry : std::filesystem::directory_iterator(at("/home"), none))
        others.push_back(entry.path());
    std::sort(others.begin(), others.end());
    std::for_each(others.begin(), others.end(), add);
    return found;
}

} // namespace genv::ctl
