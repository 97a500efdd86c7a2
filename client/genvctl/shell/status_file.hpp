// SPDX-License-Identifier: LGPL-2.1-or-later
// The file in which the service writes, for the shells of an environment, its devices and the
// actions of others on it (service/shell/shell_files.hpp). Prompts and scripts read it without
// starting a process or calling the bus.
#pragma once

#include <fstream>
#include <optional>
#include <string>

namespace genv::ctl {

/// Returns the folder of the files that the service writes for shells and hooks.
std::string runtimeFolder();

/// Returns the path of an environment's status file, or nothing if it does not exist.
std::optional<std::string> statusFile(const std::string& id);

/// Returns the first line of a file, or nothing if it cannot be read.
inline std::optional<std::string> firstLineOf(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    if (!std::getline(file, line))
        return std::nullopt;
    return line;
}

/// Returns the first line of the status file, which differs after each change.
std::optional<std::string> firstStatusLine(const std::string& id);

/// The first lines of a status file, which the service writes before it answers a request.
struct StatusHead {
    std::string stamp;   ///< of the environment: GENV_ENVIRONMENT_CREATED
    std::string devices; ///< CUDA_VISIBLE_DEVICES
};

/// Returns nothing if the file does not exist or is incomplete. It may be about an earlier
/// environment with the id, as its stamp then tells.
std::optional<StatusHead> statusHead(const std::string& id);

/// Returns the number of the last sentence in the file about a granted wait, or nothing if there is
/// none.
std::optional<std::string> lastGrant(const std::string& id);

} // namespace genv::ctl
