// SPDX-License-Identifier: LGPL-2.1-or-later
// Reads genvd.conf and its drop-ins. genvd accepts a file as a whole or rejects it. Each error
// names the file, the line and the valid values. Nothing is guessed.
#pragma once

#include "core/settings/settings.hpp"

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

/// [Isolation] of a configuration that may have errors elsewhere.
struct IsolationConfiguration {
    core::IsolationSettings settings;
    std::vector<std::string> errorsElsewhere; ///< each with the file name and the line
};

/// Reads the same files for genv-isolation, to which an error in another section is no reason to
/// leave GPUs open. Throws core::Error(InvalidArgs) for an error in [Isolation] and for a file that
/// cannot be read.
IsolationConfiguration readIsolation(const std::filesystem::path& directory);

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
