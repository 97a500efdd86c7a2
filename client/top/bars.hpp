// SPDX-License-Identifier: LGPL-2.1-or-later
// Bars and sparklines.
#pragma once

#include "client/top/frame.hpp"
#include "client/top/span.hpp"

#include <cstddef>

namespace genv::top {

/// A bar that is filled to a part between 0 and 1: the filled piece in this style, and the rest.
Line bar(double part, std::size_t width, Style filled, Charset charset);

/// How many cells a sparkline takes where there are this many: the largest number that divides the
/// history evenly; 0: too few.
std::size_t sparklineWidth(std::size_t room);
/// The history in that many cells, the last one being now.
Line sparkline(const History& history, std::size_t width, Charset charset);

/// The colour of a utilization.
Style styleOfUse(double part);

} // namespace genv::top
