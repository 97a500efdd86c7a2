// SPDX-License-Identifier: LGPL-2.1-or-later
// Small files that survive a crash: either the old text or the new one is there.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace genv::messages {

/// Creates a folder, and missing ones above it, with mode 0700. Throws std::system_error, as the
/// other functions do.
void createFolder(const std::filesystem::path& folder);
/// Writes a file with mode 0600. The text is on the disk when this returns.
void writeDurably(const std::filesystem::path& file, std::string_view text);
/// Removes a file, if it is there. It does not come back after a crash.
void removeDurably(const std::filesystem::path& file);
/// Returns nothing if there is no such regular file, or if it has more bytes.
std::optional<std::string> readSmall(const std::filesystem::path& file, std::size_t max);

} // namespace genv::messages
