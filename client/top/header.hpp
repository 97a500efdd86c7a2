// SPDX-License-Identifier: LGPL-2.1-or-later
// The lines above the tables and the one below them.
#pragma once

#include "client/top/choice.hpp"
#include "client/top/frame.hpp"

namespace genv::top {

/// Returns the name of the machine and the totals of its GPUs.
std::vector<Line> headerLines(const Frame& frame, const Choice& choice, std::size_t width);

/// Returns the question, the message, or the list of keys.
Line footerLine(const Choice& choice, std::size_t width);

} // namespace genv::top
