// SPDX-License-Identifier: LGPL-2.1-or-later
// Reads genvd.conf and its drop-ins. A file is taken whole or not at all: what is wrong is named
// with its file, its line and what would be allowed, and nothing is guessed.
#pragma once

#include "core/settings.hpp"

#include <filesystem>

namespace genv::service {

/// Reads `directory`/genvd.conf, then `directory`/genvd.conf.d/*.conf in the order of their names,
/// each over what was before; what is set nowhere has its default. Throws core::Error(InvalidArgs).
core::Settings readSettings(const std::filesystem::path& directory);

/// Reads one file over `settings`. Throws core::Error(InvalidArgs).
void readSettingsFile(const std::filesystem::path& file, core::Settings& settings);

} // namespace genv::service
