// SPDX-License-Identifier: LGPL-2.1-or-later
// The sentence in a status file about the devices that an environment without a shell keeps.
// genv-watch recognizes it, because it is the last one about a command.
#pragma once

#include <string_view>

namespace genv::core {

/// The beginning of "it keeps GPU 0, which process 12 still uses".
inline constexpr std::string_view keptFor = "it keeps ";

} // namespace genv::core
