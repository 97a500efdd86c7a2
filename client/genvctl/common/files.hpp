// SPDX-License-Identifier: LGPL-2.1-or-later
// Reads and writes files of the user who runs the command.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <string_view>

namespace genv::ctl {

/// Replaces a file atomically: a reader sees either the old or the new text. A symbolic link is
/// replaced, not followed. Throws Failure.
void replaceFile(const std::filesystem::path& file, std::string_view text);

enum class Existing { Replaced, Refused };
/// Writes a file atomically, with this mode whatever the umask is. A symbolic link in its place is
/// replaced or refused, not followed. Throws Failure.
void writeFile(const std::filesystem::path& file, std::string_view text, mode_t mode,
               Existing existing);
/// Throws the failure for a file that exists and is not to be replaced.
[[noreturn]] void throwExisting(const std::filesystem::path& file);

enum class Links { Followed, Refused };
/// Reads a file. Throws Failure if the file is missing, is not a regular file, or has more than
/// `maxSize` bytes.
std::string readFile(const std::filesystem::path& file, std::size_t maxSize,
                     Links links = Links::Followed);

} // namespace genv::ctl
