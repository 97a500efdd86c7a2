// SPDX-License-Identifier: LGPL-2.1-or-later
// What takes the place of the tables: help, and everything about the selected row.
#pragma once

#include "client/top/choice.hpp"
#include "client/top/frame.hpp"

namespace genv::top {

std::vector<Line> helpLines(const Choice& choice);
std::vector<Line> detailLines(const Frame& frame, const Item& item, Charset charset);

} // namespace genv::top
