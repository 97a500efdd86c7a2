// SPDX-License-Identifier: LGPL-2.1-or-later
// What somebody chose, in a message of ours.
#pragma once

#include <string>
#include <string_view>

namespace genv::shims {

/// Text in a form that does nothing to a terminal: what is not printable ASCII, and a backslash, as
/// \xNN.
std::string printable(std::string_view text);

} // namespace genv::shims
