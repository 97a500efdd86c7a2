// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <string_view>

namespace genv::messages {

/// Whether a text is a mail address that needs no quotes in a header: alice, or
/// alice@example.org. No such text is an option, a second recipient or a second header.
bool isMailAddress(std::string_view text);

} // namespace genv::messages
