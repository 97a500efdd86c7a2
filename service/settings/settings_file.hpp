// SPDX-License-Identifier: LGPL-2.1-or-later
// Reads genvd.conf and its drop-ins. A file is accepted as a whole or rejected. Each error names
// the file, the line and the valid values. Nothing is guessed.
#pragma once

#include "core/settings.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace genv::service {

/// Reads `directory`/genvd.conf, then `directory`/genvd.conf.d/*.conf in the order of their names.
/// Later files override earlier ones. Unset keys have their defaults. Throws
/// core::Error(InvalidArgs).
/// A `replacement` is read in place of the file with its name: a drop-in NAME.conf, else
/// genvd.conf.
core::Settings readSettings(const std::filesystem::path& directory,
                            const std::filesystem::path& replacement = {});

/// Reads one file into `settings`, overriding previous values. Throws core::Error(InvalidArgs) for
/// the first error in the file.
void readSettingsFile(const std::filesystem::path& file, core::Settings& settings);

/// All errors and warnings of a file, each with the file name and the line.
struct SettingsCheck {
    std::vector<std::string> errors;
    std::vector<std::string> warnings; ///< sections of unknown users and groups
};

/// Checks one file. Looks users and groups up, which may block, so the service itself must not call
/// this.
SettingsCheck checkSettingsFile(const std::filesystem::path& file);

} // namespace genv::service
