// SPDX-License-Identifier: LGPL-2.1-or-later
// The service's own program, which judges configuration files.
#pragma once

#include <string>
#include <string_view>

namespace genv::ctl {

/// Where it is: what GENVD says, or where it is installed.
std::string serviceProgram();

/// How a check of a file ended.
struct FileCheck {
    int status = 0;     ///< as waitpid() tells it
    std::string errors; ///< what it said, where that was asked for
};

/// Runs it on a configuration file. It says what is wrong on standard error, or with `collect` in
/// the result. Throws Failure where it cannot be run.
FileCheck checkWithService(std::string_view file, bool collect);

} // namespace genv::ctl
