// SPDX-License-Identifier: LGPL-2.1-or-later
// The sentence in a status file about a GPU that the kernel refused. genv-watch recognizes it: the
// program itself has reported its error.
#pragma once

#include <string_view>

namespace genv::core {

/// In "process 12 (python) was refused GPU 0, which you do not hold"; advice may follow.
inline constexpr std::string_view notHeld = ", which you do not hold";

} // namespace genv::core
