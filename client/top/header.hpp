// SPDX-License-Identifier: LGPL-2.1-or-later
// The lines above the tables and the one below them.
#pragma once

#include "client/top/choice.hpp"
#include "client/top/frame.hpp"

namespace genv::top {

/// What machine this is, and what its GPUs do together.
std::vector<Line> headerLines(const Frame& frame, const Choice& choice, std::size_t width);

/// A question, a message, or what keys there are.
Line footerLine(const Choice& choice, std::size_t width);

} // namespace genv::top
