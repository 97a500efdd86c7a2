// SPDX-License-Identifier: LGPL-2.1-or-later
// The report of "queue --why": the standing of each waiting request, and the reason of its wait.
#pragma once

#include "client/genvctl/environment/loans.hpp"
#include "genv/types.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace genv::ctl {

/// Returns a paragraph for each request, with lines of at most `width` cells.
std::string queueReport(const std::vector<WaitingRequest>& queue, const LoanStates& loans, Time now,
                        std::size_t width);

} // namespace genv::ctl
