// SPDX-License-Identifier: LGPL-2.1-or-later
// The folder of the shims that an environment has first in PATH.
#pragma once

#include <string>

namespace genv::ctl {

/// Returns the folder with the wrappers of nvidia-smi, and of docker and podman if they are in
/// PATH, because a missing command must not appear to exist. If PATH already contains such a
/// folder, returns that one.
std::string shimsFolder();

/// Puts that folder first in the PATH of this process.
void putShimsFirst();

} // namespace genv::ctl
