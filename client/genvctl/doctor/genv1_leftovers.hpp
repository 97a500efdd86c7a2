// SPDX-License-Identifier: LGPL-2.1-or-later
// Finds what is left of genv 1 on this machine. Its command books GPUs in files of its own, which
// genvd neither reads nor respects.
#pragma once

#include "client/genvctl/doctor/places.hpp"

#include <filesystem>
#include <optional>
#include <vector>

namespace genv::ctl {

/// A piece of genv 1.
struct Genv1Leftover {
    enum class Kind { Program, Package, StartFile, State };
    Kind kind = Kind::Program;
    std::filesystem::path path;
    bool wins = false; ///< a program that `genv` means in this PATH, before this genv

    friend bool operator==(const Genv1Leftover&, const Genv1Leftover&) = default;
};

/// The program of genv 1 that `genv` means in a search path; nothing where it means another one.
/// Looks at no more than the folders of the path.
std::optional<std::filesystem::path> genv1OnPath(const Places& places);

/// All that is found in the usual places: programs, Python packages, start files that put such a
/// program on the path, and state.
std::vector<Genv1Leftover> findGenv1(const Places& places);

} // namespace genv::ctl
