// SPDX-License-Identifier: LGPL-2.1-or-later
// Text in headers of mail and HTTP: encoded words of RFC 2047.
#pragma once

#include <string>
#include <string_view>

namespace genv::messages {

/// Returns base64 of RFC 4648, in one line.
std::string base64(std::string_view bytes);

/// Returns a text as the value of a header: as it is if it is short, printable ASCII, else as
/// encoded words in UTF-8, separated by `separator`. The value never has a line end that
/// `separator` does not have.
std::string headerText(std::string_view text, std::string_view separator);

} // namespace genv::messages
