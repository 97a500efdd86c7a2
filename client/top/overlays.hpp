// SPDX-License-Identifier: LGPL-2.1-or-later
// The pages that replace the tables: help, and the details of the selected row.
#pragma once

#include "client/top/choice.hpp"
#include "client/top/frame.hpp"

namespace genv::top {

std::vector<Line> helpLines(const Choice& choice);
std::vector<Line> detailLines(const Frame& frame, const Item& item, Charset charset);

} // namespace genv::top
