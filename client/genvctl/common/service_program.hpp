// SPDX-License-Identifier: LGPL-2.1-or-later
// Runs programs of the service to check configuration files and the machine.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace genv::ctl {

/// Returns its path: the variable GENVD, or the installed path.
std::string serviceProgram();

/// The result of checking a file.
struct FileCheck {
    int status = 0;     ///< as waitpid() returns it
    std::string errors; ///< its error output, if it was collected
};

/// The present use of the GPUs, as texts for the program (service/limit_preview.hpp).
struct PresentUse {
    std::vector<std::string> used;    ///< one text per user
    std::vector<std::string> outside; ///< one text per process outside every environment
};

/// Runs the program on a configuration file. It prints errors on standard error, or with `collect`
/// returns them in the result. Throws Failure if the program cannot be run. If the file is valid,
/// the program compares the present use with the settings, and prints on standard output whom they
/// concern.
FileCheck checkWithService(std::string_view file, bool collect, const PresentUse& present = {});

/// Returns why this machine cannot isolate GPUs, according to genv-isolation; empty if it can, as
/// far as this user can see, or if the program is not there. Throws Failure.
std::string obstacleToIsolation();

} // namespace genv::ctl
