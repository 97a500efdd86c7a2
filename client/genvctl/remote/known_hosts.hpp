// SPDX-License-Identifier: LGPL-2.1-or-later
// The hosts that somebody's ssh knows, to complete a name with.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace genv::ctl {

/// The names in the files "config" and "known_hosts" of ssh's folder, in order and each once:
/// neither patterns nor what is hashed. What cannot be read names none.
std::vector<std::string> knownHosts(const std::filesystem::path& sshFolder);

} // namespace genv::ctl
