// SPDX-License-Identifier: LGPL-2.1-or-later
// Finds the real program behind a shim, and determines when a shim must do nothing. A shim is on
// PATH under the name of the real program. The real program is the next one with this name that is
// not in the shim's own folder.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace genv::shims {

/// Returns whether GENV_BYPASS is 1. A shim then only executes the real program.
bool isBypassed();

/// Returns the folder of this program.
std::string ownFolder();

/// Returns the first executable file with this name on PATH that is neither in `shimsFolder`, nor a
/// link into it, nor in a folder genv/shims of another installation. Returns nothing if there is
/// none.
std::optional<std::string> findRealProgram(const std::string& name, const std::string& shimsFolder);

/// Executes the real program in this process with these arguments (without the name), so that its
/// output, exit status and signals are unchanged. Like a shell, exits with 127 and a message if
/// there is no real program, and with 126 if it cannot be executed.
[[noreturn]] void executeReal(const std::string& name, const std::vector<std::string>& arguments);

} // namespace genv::shims
