// SPDX-License-Identifier: LGPL-2.1-or-later
// Reads a file that decides which commands run as the user: as sshd does with StrictModes, it
// counts only if nobody else could have written it.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>

namespace genv::messages {

/// A file that is not trusted or cannot be read; the text names it and what to do.
class UntrustedFile : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

struct TrustedFile {
    std::string text;
    bool isPrivate = true; ///< whether no other user can read it
};

/// Reads a regular file of at most `max` bytes. The file, each folder on the way to it, and each
/// symbolic link there must belong to this user or root, and nobody else may write it. For a path
/// below `home` the way begins there, as for sshd; else at the root. Returns nothing if there is no
/// file. Throws UntrustedFile.
std::optional<TrustedFile> readTrusted(const std::filesystem::path& path,
                                       const std::filesystem::path& home, std::size_t max);

} // namespace genv::messages
