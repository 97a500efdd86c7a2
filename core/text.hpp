// SPDX-License-Identifier: LGPL-2.1-or-later
// Text from outside: what may be an id or a name, and how foreign text is quoted. Nothing that a
// client or a process chose reaches a terminal, a log or a message but through here.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace genv::core {

/// The longest id and the longest name, in bytes.
inline constexpr std::size_t longestName = 64;

/// Whether text is an id: 1 to 64 of [A-Za-z0-9._:@-].
bool isIdentifier(std::string_view text);

/// Throws Error(InvalidArgs) unless text is an id. `what` names the argument in the message, such
/// as "id".
void requireIdentifier(std::string_view text, std::string_view what);

/// Throws Error(InvalidArgs) unless text is a name: 1 to 64 bytes of UTF-8 without control, format
/// and line-separator characters (Unicode categories Cc, Cf, Zl, Zp).
void requireName(std::string_view text);

/// Decodes the UTF-8 character at the start of text and removes it; nothing when the text does not
/// start with a well-formed one (overlong forms, surrogates and values above U+10FFFF are not).
std::optional<char32_t> takeCharacter(std::string_view& text);

/// Whether a character may be shown as it is: none of the categories Cc, Cf, Zl, Zp.
bool isPrintable(char32_t character);

/// Foreign text made safe for a terminal, a log line and a message: what is not printable becomes
/// \xNN by bytes, the backslash and the double quote get a backslash, and what is longer than
/// `longest` bytes ends in "...".
std::string escaped(std::string_view text, std::size_t longest = 2 * longestName);

/// Foreign text for where quoting is up to somebody else: what is not printable becomes \xNN by
/// bytes, the rest stays as it is, however long.
std::string printable(std::string_view text);

} // namespace genv::core
