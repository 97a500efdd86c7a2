// SPDX-License-Identifier: LGPL-2.1-or-later
// The program that a shim stands in front of, and when the shim is to keep out of the way. A shim
// is found on PATH under the name of the real program; the real one is the next of that name which
// is not in the shim's own folder.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace genv::shims {

/// Whether GENV_BYPASS is 1: a shim then only executes the real program.
bool isBypassed();

/// The folder that this program lies in.
std::string ownFolder();

/// The first executable file of this name on PATH that is not in `shimsFolder` nor a link into it,
/// nor in a folder genv/shims of another installation; nothing where there is none.
std::optional<std::string> findRealProgram(const std::string& name, const std::string& shimsFolder);

/// Executes the real program in this process with these arguments (without the name), so that its
/// output, exit status and signals are its own. Ends with 127 and a message where there is no real
/// one, and with 126 where it cannot be executed, as a shell does.
[[noreturn]] void executeReal(const std::string& name, const std::vector<std::string>& arguments);

} // namespace genv::shims
