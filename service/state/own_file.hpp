// SPDX-License-Identifier: LGPL-2.1-or-later
// Files that this service alone writes. A file is written to a temporary one and renamed, so a
// reader after a crash finds either the old or the new text.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace genv::service {

/// The end of the name of a temporary file, which an interrupted write leaves behind.
inline constexpr std::string_view temporarySuffix = ".new";

/// Returns the text of a regular file of at most `max` bytes that no other user could have written.
/// For anything else, returns nothing and stores the reason in `why`. The name is relative to a
/// descriptor as for openat(2). Throws std::system_error if the process is out of resources.
std::optional<std::string> readOwnFile(int directory, const std::string& name, std::size_t max,
                                       std::string& why);

/// Creates or replaces a file with mode 0600. Returns 0 or an errno value; in the latter case, the
/// old file stays.
int replaceOwnFile(int directory, const std::string& name, std::string_view text);

/// The same for a file that must survive a power failure. This takes as long as the disk.
int replaceOwnFileOnDisk(int directory, const std::string& name, std::string_view text);

} // namespace genv::service
