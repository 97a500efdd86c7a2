// SPDX-License-Identifier: LGPL-2.1-or-later
// The file in which the service tells the shells of an environment what it has and what others did
// to it (service/shell/shell_files.hpp). Prompts and scripts read it without a process or the bus.
#pragma once

#include <optional>
#include <string>

namespace genv::ctl {

/// The folder of the files that the service keeps for shells and hooks.
std::string runtimeFolder();

/// The path of an environment's status file; nothing where there is none, as under a service of an
/// older version.
std::optional<std::string> statusFile(const std::string& id);

/// Its first line, which is another after each change.
std::optional<std::string> firstStatusLine(const std::string& id);

/// The number of the last sentence in it that says what a wait brought; nothing without one.
std::optional<std::string> lastGrant(const std::string& id);

} // namespace genv::ctl
