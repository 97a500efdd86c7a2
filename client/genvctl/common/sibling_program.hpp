// SPDX-License-Identifier: LGPL-2.1-or-later
// Programs of genv's own that take the place of genvctl in the same process, so that genvctl, whose
// start-up time counts, has nothing of theirs in it.
#pragma once

#include <string>
#include <vector>

namespace genv::ctl {

/// A program that is a package of its own or may be left out of a build.
struct SiblingProgram {
    std::string name;      ///< of its file
    std::string installed; ///< the path of that
    std::string what;      ///< what messages call it
    std::string package;   ///< that has it
};

/// Returns the path of the program: beside this one, or where it is installed.
std::string siblingPath(const SiblingProgram& program);

/// Becomes the program, found beside this one or where it is installed. Throws Failure where it
/// cannot be started.
[[noreturn]] void becomeSibling(const SiblingProgram& program, std::vector<std::string> arguments);

} // namespace genv::ctl
