// SPDX-License-Identifier: LGPL-2.1-or-later
// Files of the person who runs the command.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace genv::ctl {

/// Puts a file with this text there, whole or not at all: a reader sees the old or the new one, and
/// a link is replaced, not followed. Throws Failure.
void replaceFile(const std::filesystem::path& file, std::string_view text);

enum class Links { Followed, Refused };
/// Reads a file. Throws Failure for one that is not there, no regular file, or has more bytes than
/// this.
std::string readFile(const std::filesystem::path& file, std::size_t most,
                     Links links = Links::Followed);

} // namespace genv::ctl
