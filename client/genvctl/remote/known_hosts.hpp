// SPDX-License-Identifier: LGPL-2.1-or-later
// Reads the hosts that the user's ssh knows, for the completion of names.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace genv::ctl {

/// Returns the names in the files "config" and "known_hosts" of ssh's folder, in order and without
/// duplicates. Patterns and hashed names are skipped, and so are files that cannot be read.
std::vector<std::string> knownHosts(const std::filesystem::path& sshFolder);

} // namespace genv::ctl
