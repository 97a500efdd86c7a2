// SPDX-License-Identifier: LGPL-2.1-or-later
// Reads genvd.conf and its drop-ins. A file is taken whole or not at all: what is wrong is named
// with its file, its line and what would be allowed, and nothing is guessed.
#pragma once

#include "core/settings.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace genv::service {

/// Reads `directory`/genvd.conf, then `directory`/genvd.conf.d/*.conf in the order of their names,
/// each over what was before; what is set nowhere has its default. Throws core::Error(InvalidArgs).
core::Settings readSettings(const std::filesystem::path& directory);

/// Reads one file over `settings`. Throws core::Error(InvalidArgs) that names the first of what is
/// wrong.
void readSettingsFile(const std::filesystem::path& file, core::Settings& settings);

/// What is wrong with a file, all of it, each with the file and the line.
struct SettingsCheck {
    std::vector<std::string> errors;
    std::vector<std::string> warnings; ///< sections of users and groups that there are none of
};

/// Checks one file. Looks users and groups up, which may block: not for the service itself.
SettingsCheck checkSettingsFile(const std::filesystem::path& file);

} // namespace genv::service
