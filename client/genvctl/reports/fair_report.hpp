// SPDX-License-Identifier: LGPL-2.1-or-later
// What users have used so far and their weights, which decide the order of the queue if the
// administrator wants it fair.
#pragma once

#include "client/genvctl/context/context.hpp"
#include "client/genvctl/options/listing_options.hpp"

namespace genv::ctl {

/// Prints the use of all users, which only an authorized caller may read. The user who is next in a
/// fair queue comes first.
void printFairReport(Context& context, const ListingOptions& options);

} // namespace genv::ctl
