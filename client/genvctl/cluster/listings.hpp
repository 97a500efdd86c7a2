// SPDX-License-Identifier: LGPL-2.1-or-later
// The tables and the JSON of a cluster's nodes and jobs. They have the columns and keys of a single
// machine's, and the node.
#pragma once

#include "client/genvctl/cluster/questions.hpp"
#include "client/genvctl/cluster/rows.hpp"
#include "client/genvctl/options/listing_options.hpp"
#include "client/genvctl/terminal/json.hpp"
#include "client/genvctl/terminal/table.hpp"

#include <vector>

namespace genv::ctl::cluster {

using Nodes = std::vector<ClusterNode>;
using Jobs = std::vector<ClusterJob>;

Table devicesTable(const Nodes& nodes, const Jobs& jobs, const ListingOptions& options);
Json devicesJson(const Nodes& nodes, const Jobs& jobs);

Table jobsTable(const Jobs& jobs, const ListingOptions& options);
Json jobsJson(const Jobs& jobs);

Table queueTable(const Jobs& jobs, const ListingOptions& options, Time now);
Json queueJson(const Jobs& jobs);

} // namespace genv::ctl::cluster
