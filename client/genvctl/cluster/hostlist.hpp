// SPDX-License-Identifier: LGPL-2.1-or-later
// Slurm's lists of nodes: "n[1-3,07],login".
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace genv::ctl::cluster {

/// Returns the names of a list, in its order. A part that is no list is returned as it is. Stops
/// at 65536 names, which is more than Slurm allows in a cluster.
std::vector<std::string> expandHosts(std::string_view list);

/// Whether a name comes before another one: numbers in it count as numbers, so that n2 comes
/// before n10.
bool comesBefore(std::string_view first, std::string_view second);

} // namespace genv::ctl::cluster
