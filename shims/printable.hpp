// SPDX-License-Identifier: LGPL-2.1-or-later
// Makes untrusted text safe for messages.
#pragma once

#include <string>
#include <string_view>

namespace genv::shims {

/// Returns text that is safe for a terminal: backslashes and all characters except printable ASCII
/// are written as \xNN.
std::string printable(std::string_view text);

} // namespace genv::shims
