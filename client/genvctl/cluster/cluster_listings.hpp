// SPDX-License-Identifier: LGPL-2.1-or-later
// The tables of a cluster's nodes and jobs. They have the columns of a single machine's, and the
// node.
#pragma once

#include "client/genvctl/cluster/cluster_objects.hpp"
#include "client/genvctl/options/listing_options.hpp"
#include "client/genvctl/terminal/table.hpp"

namespace genv::ctl::cluster {

Table devicesTable(const Nodes& nodes, const Jobs& jobs, const ListingOptions& options);
Table jobsTable(const Jobs& jobs, const ListingOptions& options);
Table queueTable(const Jobs& jobs, const ListingOptions& options, Time now);

} // namespace genv::ctl::cluster
