// SPDX-License-Identifier: LGPL-2.1-or-later
// Finds remains of genv 1 on this machine. Its command reserves GPUs in files of its own, which
// genvd neither reads nor respects.
#pragma once

#include "client/genvctl/doctor/system_places.hpp"

#include <filesystem>
#include <optional>
#include <vector>

namespace genv::ctl {

/// A file or folder of genv 1.
struct Genv1Leftover {
    enum class Kind { Program, Package, StartFile, State };
    Kind kind = Kind::Program;
    std::filesystem::path path;
    bool wins = false; ///< whether `genv` runs this program in this PATH instead of this version

    friend bool operator==(const Genv1Leftover&, const Genv1Leftover&) = default;
};

/// Returns the program of genv 1 that `genv` runs in a search path, or nothing if it runs another
/// program. Looks only at the folders of the path.
std::optional<std::filesystem::path> genv1OnPath(const SystemPlaces& places);

/// Returns all remains in the usual places: programs, Python packages, start files that add such a
/// program to PATH, and state.
std::vector<Genv1Leftover> findGenv1(const SystemPlaces& places);

} // namespace genv::ctl
