// SPDX-License-Identifier: LGPL-2.1-or-later
// Bars and sparklines.
#pragma once

#include "client/top/frame.hpp"
#include "client/top/span.hpp"

#include <cstddef>

namespace genv::top {

/// Returns a bar that is filled to a part between 0 and 1: the filled piece in this style, and the
/// rest.
Line bar(double part, std::size_t width, Style filled, Charset charset);

/// Returns the width of a sparkline in this number of cells: the largest that divides the history
/// evenly, or 0 if there are too few.
std::size_t sparklineWidth(std::size_t room);
/// Returns the history in this number of cells; the last one is now.
Line sparkline(const History& history, std::size_t width, Charset charset);

/// Returns the style of a utilization.
Style styleOfUse(double part);

} // namespace genv::top
