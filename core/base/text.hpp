// SPDX-License-Identifier: LGPL-2.1-or-later
// Foreign text: which texts are valid ids and names, and how foreign text is quoted. Text from a
// client or a process reaches a terminal, a log or a message only through these functions.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace genv::core {

/// The maximum length of ids and names, in bytes.
inline constexpr std::size_t maxNameLength = 64;
/// The maximum length of the user names that are shown, in bytes: LOGIN_NAME_MAX of Linux.
inline constexpr std::size_t maxUserNameLength = 256;

/// Returns whether text is a valid id: 1 to 64 characters of [A-Za-z0-9._:@-].
bool isIdentifier(std::string_view text);

/// Throws Error(InvalidArgs) unless text is a valid id. `what` names the argument in the message,
/// such as "id".
void requireIdentifier(std::string_view text, std::string_view what);

/// Throws Error(InvalidArgs) unless text is a valid name: 1 to 64 bytes of UTF-8 without control,
/// format and line-separator characters (Unicode categories Cc, Cf, Zl, Zp).
void requireName(std::string_view text);

/// Decodes the UTF-8 character at the start of text and removes it. Returns nothing if the text
/// does not start with a well-formed character (overlong forms, surrogates and values above
/// U+10FFFF are not).
std::optional<char32_t> takeCharacter(std::string_view& text);

/// Returns whether a character may be shown as it is: whether it is in none of the categories Cc,
/// Cf, Zl, Zp.
bool isPrintable(char32_t character);

/// Makes foreign text safe for a terminal, a log line and a message. Unprintable characters become
/// \xNN for each byte, backslash and double quote get a backslash, and a text longer than
/// `maxLength` bytes is cut and ends in "...".
std::string escaped(std::string_view text, std::size_t maxLength = 2 * maxNameLength);

/// Makes foreign text printable for callers that quote it themselves. Unprintable characters become
/// \xNN for each byte; the rest stays as it is, in any length.
std::string printable(std::string_view text);

} // namespace genv::core
